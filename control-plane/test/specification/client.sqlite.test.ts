import { execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { storeCredential } from '@svault/compose/admin-client';
import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { spec } from '@svault/test-kit/spec';

const SVAULT = fileURLToPath(new URL('../../../cli/src/bin.ts', import.meta.url));

/** The command-line client as a process, signed in by its environment. */
class Client {
  readonly env: NodeJS.ProcessEnv;

  constructor(service: PairedService, key: string, configDir: string) {
    this.env = {
      PATH: process.env['PATH'],
      HOME: configDir,
      SVAULT_CONFIG_DIR: configDir,
      SVAULT_KEYCHAIN: 'off',
      SVAULT_BASE_URL: service.pair.controlPlaneUrl(),
      SVAULT_KEY: key,
    };
  }

  /** @param onStderr sees each piece that it says meanwhile */
  run(args: readonly string[], onStderr: (text: string) => void = () => undefined): Promise<number> {
    const child = spawn(process.execPath, [SVAULT, ...args], {
      env: this.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.setEncoding('utf8').on('data', onStderr);
    return new Promise((resolve) => child.once('close', (code) => resolve(code ?? -1)));
  }

  /** @param input on stdin @returns stdout */
  output(args: readonly string[], input: string, env: NodeJS.ProcessEnv = this.env): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = execFile(process.execPath, [SVAULT, ...args], { env }, (error, out) =>
        error === null ? resolve(out) : reject(new Error('svault refused', { cause: error })),
      );
      child.stdin?.end(input);
    });
  }
}

let service: PairedService;
const { path: configDir, remove } = tempDir();
beforeAll(async () => {
  service = await startPairedService({ startJob: jobsByHand().startJob });
});
afterAll(async () => {
  await service.stop();
  remove();
});

test(
  'svault exits with 6 where --check finds an empty credential',
  spec('6 | tokens get --check found an empty token.'),
  async () => {
    const client = new Client(service, service.pair.adminKey, configDir);
    await storeCredential(service.pair.admin, 'empty', { tokenType: 'PlainText', value: '' });
    expect(await client.run(['tokens', 'get', 'empty', '--check'])).toBe(6);
    const agent = await service.agent('empty');
    expect(await new Client(service, agent.apiKey, configDir).run(['get', 'empty', '--check'])).toBe(6);
  },
);

test('svault exits with 7 on HTTP 429', spec('7 | The response was HTTP 429.'), async () => {
  const client = new Client(service, service.pair.adminKey, configDir);
  await storeCredential(service.pair.admin, 'stubborn', { tokenType: 'PlainText', value: 'x' });
  for (let call = 0; call < 10; call += 1) await service.admin('POST', '/api/tokens/stubborn/refresh');
  expect(await client.run(['tokens', 'refresh', 'stubborn'])).toBe(7);
});

test(
  'svault repeats a GET that got 429 after the time that it says',
  spec("The CLI's GET requests retry on 429 with backoff."),
  async () => {
    const agent = await service.agent();
    let retryAfterSeconds = 0;
    while (retryAfterSeconds === 0) {
      const { status, json } = await agent.list();
      if (status === 429) retryAfterSeconds = Number(json.retryAfter);
    }
    // One second is left of the lockout when the client asks first.
    service.clock.advance((retryAfterSeconds - 1) * 1_000);
    let said = '';
    const code = await new Client(service, agent.apiKey, configDir).run(['ls'], (text) => {
      if (said === '') service.clock.advance(1_000);
      said += text;
    });
    expect(said).toContain('again in 1 s');
    expect(code).toBe(0);
  },
);

test('svault keeps a session in a context', spec('The CLI holds the session in a context.'), async () => {
  const client = new Client(service, service.pair.adminKey, configDir);
  const { SVAULT_KEY: key = '', ...env } = client.env;
  await client.output(['login', '--as', 'work', '--key', '-'], key, env);
  expect(await client.output(['context', 'current'], '', env)).toBe('work\n');
  expect(await client.output(['whoami', '--format', 'json'], '', env)).toContain('owner@example.org');
});
