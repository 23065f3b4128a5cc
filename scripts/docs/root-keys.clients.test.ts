import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonEnvironment } from '@svault/test-kit/foreign-packages';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from './command-blocks.ts';
import { blocksOf, onMachine } from './machine-in-folder.ts';
import { runScript } from './page-script.ts';

const PAGE = 'docs/operate/root-keys.md';
const PORTS = { '8080': 1, '8090': 1, '443': 1 };

let pair: TestPair;
let emulator: ChildProcess;
let env: Record<string, string>;
/** Of the webhook, in place of /etc/svault/webhook. */
let folder: string;

beforeAll(async () => {
  pair = await startPair({ startMs: Date.now(), logLevel: 'silent' });
  await pair.stop('webhook');
  folder = join(pair.dir, 'etc/svault/webhook');
  for (const each of [folder, join(pair.dir, 'tokens'), join(pair.dir, 'bin')])
    mkdirSync(each, { recursive: true });
  writeFileSync(join(folder, 'root.key'), `${pair.masterKeys.webhook}\n`, { mode: 0o600 });
  writeFileSync(join(pair.dir, 'softhsm2.conf'), `directories.tokendir = ${join(pair.dir, 'tokens')}\n`);
  const python = await pythonEnvironment(join(ROOT, 'cli/test/run/requirements.txt'));
  writeFileSync(join(pair.dir, 'bin/aws'), `#!/bin/sh\nexec ${python} -m awscli "$@"\n`, { mode: 0o755 });
  const emulated = await startEmulator(python);
  emulator = emulated.child;
  env = {
    PATH: `${join(pair.dir, 'bin')}:${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`,
    HOME: pair.dir,
    SOFTHSM2_CONF: join(pair.dir, 'softhsm2.conf'),
    SVAULT_PIN: '1234',
    AWS_ENDPOINT_URL: emulated.url,
    AWS_DEFAULT_REGION: 'eu-north-1',
    AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'secret',
  };
});

afterAll(async () => {
  emulator.kill();
  await pair.close();
});

async function startEmulator(
  python: string,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  for (;;) {
    await once(child.stderr, 'data');
    const [, url] = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(said) ?? [];
    if (url !== undefined) return { child, url };
  }
}

const onThis = (text: string): string => onMachine(text, { path: pair.dir, ports: PORTS });

/** The one block of the page that begins so. */
function block(language: 'sh' | 'ini', begins: string): string {
  const [found, ...others] = blocksOf(PAGE, language).filter((text) => text.startsWith(begins));
  if (found === undefined || others.length > 0) throw new Error(`not one block begins with ${begins}`);
  return onThis(found);
}

/** Runs commands as root does on a machine, whose services and users are not there. */
async function mustRun(...commands: readonly string[]): Promise<string> {
  const stubs = 'set -euo pipefail\nchown() { :; }\nsystemctl() { echo "systemctl $*"; }\n';
  const { code, output } = await runScript(stubs + commands.join('\n'), pair.dir, env);
  expect(code, output).toBe(0);
  return output;
}

/** Opens the webhook's vault with the settings of its `env` file. */
async function verify(lines: string): Promise<string> {
  const settings = [
    `SV_WEBHOOK_URL=${pair.webhookUrl}`,
    'SV_WEBHOOK_SERVICE_URL=http://127.0.0.1:1',
    `SV_WEBHOOK_DATA_DIR=${join(pair.dir, 'webhook')}`,
  ];
  writeFileSync(join(folder, 'env'), `${settings.join('\n')}\n${lines}`);
  return verifyAgain();
}

const verifyAgain = (): Promise<string> =>
  mustRun(`node --env-file=${join(folder, 'env')} ${join(ROOT, 'webhook/src/main.ts')} audit verify`);

test.each([
  ['age', 'age-keygen', 'SV_WEBHOOK_MASTER_KEY_COMMAND=age', ''],
  [
    'a PKCS#11 token',
    'pkcs11-tool',
    'SVAULT_PIN',
    'softhsm2-util --init-token --free --label svault --so-pin 4321 --pin 1234',
  ],
  [
    'AWS KMS',
    'aws kms encrypt',
    'SV_WEBHOOK_MASTER_KEY_COMMAND=/',
    'aws kms create-alias --alias-name alias/svault --target-key-id "$(aws kms create-key --query KeyMetadata.KeyId --output text)"',
  ],
])(
  'the root key that %s keeps by the commands of the page opens the vault',
  async (_, commands, setting, before) => {
    await mustRun(before, block('sh', commands));
    expect(await verify(block('ini', setting))).toContain('the log is whole');
  },
);

test('break glass: a typed root key takes the place of a command that fails', async () => {
  const typed = join(pair.dir, 'typed');
  writeFileSync(typed, `${pair.masterKeys.webhook}\n`);
  writeFileSync(
    join(folder, 'env'),
    readFileSync(join(folder, 'env'), 'utf8').replaceAll(/_COMMAND=.*/g, '_COMMAND=false'),
  );
  const broken = await runScript(
    `node --env-file=${join(folder, 'env')} ${join(ROOT, 'webhook/src/main.ts')} audit verify`,
    pair.dir,
    env,
  );
  expect(broken).toEqual({
    code: 1,
    output: expect.stringContaining('SV_WEBHOOK_MASTER_KEY_COMMAND: false failed with exit code 1'),
  });
  const typing = block('sh', '(umask 077; cat');
  expect(await mustRun(`{\n${typing}\n} < ${typed}`)).toContain('systemctl restart svault-webhook');
  expect(await verifyAgain()).toContain('the log is whole');
});
