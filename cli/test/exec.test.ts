import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromProcess } from '@aws-sdk/credential-provider-process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Outcome } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

const BIN = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
const SECRET = 'only-for-the-child-7731';
const AWS = { Version: 1, AccessKeyId: 'AKIAEXAMPLE', SecretAccessKey: 'key', SessionToken: 'session' };

let people: PairAndPeople;
let agent: Awaited<ReturnType<PairAndPeople['agent']>>;

beforeAll(async () => {
  people = await pairAndPeople();
  const { svault } = people.admin;
  const secrets = { one: SECRET, two: 'second\nvalue', nul: 'a\u0000b', aws: JSON.stringify(AWS) };
  for (const [name, input] of Object.entries(secrets))
    expect(await svault(['add', name], { input })).toMatchObject({ code: 0 });
  agent = await people.agent('runner', ...Object.keys(secrets), 'missing');
});
afterAll(() => people.close());

const exec = (args: readonly string[], options = {}): Promise<Outcome> =>
  agent.spawned(['exec', ...args], options);
const PRINT = 'process.stdout.write(JSON.stringify([process.env.A, process.env.B, process.env.SVAULT_KEY]))';

describe('exec', () => {
  test('gives credentials to the command and to nothing else', async () => {
    const { code, out, err } = await exec([
      ...['--with', 'A=one', '--with', 'B=two', '--'],
      ...[process.execPath, '-e', PRINT, '--', '--format', 'json'],
    ]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toEqual([SECRET, 'second\nvalue', null]);
  });

  test('hands over stdin, arguments that look like options, and the exit code', async () => {
    const script = 'cat; printf %s "$*"; exit 42';
    const { code, out } = await exec(['--with', 'A=one', '--', 'sh', '-c', script, 'sh', '--', '--debug'], {
      input: 'from stdin ',
    });
    expect({ code, out }).toEqual({ code: 42, out: 'from stdin -- --debug' });
  });

  test('ends as a command that a signal ended', async () => {
    expect(await exec(['--with', 'A=one', '--', 'sh', '-c', 'kill -9 $$'])).toMatchObject({ code: 137 });
  });

  test('127 where there is no such command, 126 where it cannot be run', async () => {
    const missing = await exec(['--with', 'A=one', '--', 'no-such-command-here']);
    expect(missing).toEqual({ code: 127, out: '', err: 'error: there is no command no-such-command-here\n' });
    const path = join(agent.dir, 'not-executable');
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, 0o600);
    expect(await exec(['--with', 'A=one', '--', path])).toMatchObject({ code: 126, out: '' });
  });

  test('starts nothing where one credential cannot be had', async () => {
    const { code, out, err } = await exec([
      '--with',
      'A=one',
      '--with',
      'B=missing',
      '--',
      'echo',
      'started',
    ]);
    expect({ code, out }).toEqual({ code: 4, out: '' });
    expect(err).not.toContain(SECRET);
    const nul = await agent.svault(['exec', '--with', 'A=nul', '--', 'echo', 'started']);
    expect(nul).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/NUL/) });
  });

  test.each([
    [['--', 'echo']],
    [['--with', 'one', '--', 'echo']],
    [['--with', '1A=one', '--', 'echo']],
    [['--with', 'A B=one', '--', 'echo']],
    [['--with', 'A=', '--', 'echo']],
    [['--with', 'A=one', '--with', 'A=two', '--', 'echo']],
    [['--with', 'A=one']],
  ])('%j is no way to call it', async (args) => {
    const { code, out, err } = await agent.svault(['exec', ...args]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^error: [^\n]*\n$/);
  });

  test('shows requests under --dry-run, and starts nothing', async () => {
    const { code, out } = await agent.svault([
      '--dry-run',
      'exec',
      '--with',
      'A=one',
      '--',
      'echo',
      'started',
    ]);
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/^GET .*credentials\?service=one\n$/),
    });
  });
});

/** A command that says when it runs, and ends by a signal or when its stdin does. */
const WAITING = `process.stdout.write('runs');
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
  process.on(signal, () => { process.stdout.write(' ' + signal); process.exit(7); });
process.stdin.resume();`;

async function waiting(): Promise<{
  svault: ChildProcess;
  ended: Promise<{ code: number | null; out: string }>;
}> {
  const svault = spawn(
    process.execPath,
    [BIN, 'exec', '--with', 'A=one', '--', process.execPath, '-e', WAITING],
    {
      env: {
        PATH: process.env['PATH'],
        SVAULT_CONFIG_DIR: agent.dir,
        SVAULT_KEYCHAIN: 'off',
        SVAULT_BASE_URL: people.pair.controlPlaneUrl(),
        SVAULT_KEY: agent.key,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  let out = '';
  const ended = new Promise<{ code: number | null; out: string }>((resolve) =>
    svault.once('close', (code) => resolve({ code, out })),
  );
  await new Promise<void>((resolve) =>
    svault.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      resolve();
    }),
  );
  return { svault, ended };
}

describe('a command that runs', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('gets %s', async (signal) => {
    const { svault, ended } = await waiting();
    svault.kill(signal);
    expect(await ended).toEqual({ code: 7, out: `runs ${signal}` });
  });

  test.runIf(process.platform === 'linux')(
    'alone has the credential in its environment: svault’s own, and its arguments, hold none',
    async () => {
      const { svault, ended } = await waiting();
      const own = `/proc/${svault.pid}`;
      const [child] = readFileSync(`${own}/task/${svault.pid}/children`, 'utf8').trim().split(' ');
      expect(readFileSync(`/proc/${child}/environ`, 'utf8')).toContain(`A=${SECRET}`);
      expect(readFileSync(`/proc/${child}/environ`, 'utf8')).not.toContain(agent.key);
      for (const file of ['environ', 'cmdline', 'comm'])
        expect(readFileSync(`${own}/${file}`, 'utf8')).not.toContain(SECRET);
      expect(readdirSync(agent.dir).map((name) => readFileSync(join(agent.dir, name), 'utf8'))).not.toContain(
        expect.stringContaining(SECRET),
      );
      svault.stdin?.end();
      expect(await ended).toMatchObject({ code: 0 });
    },
  );
});

describe('get --credential-process', () => {
  test('is what AWS clients read', async () => {
    const config = join(agent.dir, 'aws', 'config');
    mkdirSync(join(agent.dir, 'aws'), { recursive: true });
    const env = [
      `SVAULT_BASE_URL=${people.pair.controlPlaneUrl()}`,
      `SVAULT_KEY=${agent.key}`,
      `SVAULT_CONFIG_DIR=${agent.dir}`,
      'SVAULT_KEYCHAIN=off',
    ].join(' ');
    const command = `env ${env} ${process.execPath} ${BIN} get aws --credential-process`;
    writeFileSync(config, `[profile svault]\ncredential_process = ${command}\n`);
    const credentials = await fromProcess({ profile: 'svault', configFilepath: config, filepath: config })();
    expect(credentials).toMatchObject({
      accessKeyId: 'AKIAEXAMPLE',
      secretAccessKey: 'key',
      sessionToken: 'session',
    });
  });

  test('refuses what they would not read, and does not quote it', async () => {
    const { code, out, err } = await agent.svault(['get', 'one', '--credential-process']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/holds no AWS credentials/);
    expect(err).not.toContain(SECRET);
  });
});
