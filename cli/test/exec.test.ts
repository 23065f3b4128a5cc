import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromProcess } from '@aws-sdk/credential-provider-process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BIN, type Outcome } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

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

const exec = (...args: readonly string[]): Promise<Outcome> => agent.svault(['exec', ...args]);
const PRINT = `
let input = '';
process.stdin.on('data', (chunk) => (input += chunk)).on('end', () => {
  const { A, B, SVAULT_KEY } = process.env;
  process.stdout.write(JSON.stringify({ A, B, SVAULT_KEY, input, args: process.argv.slice(1) }));
  process.exitCode = 42;
});`;

describe('exec', () => {
  test('gives credentials to a command, with stdin, with arguments that look like options, and ends as it does', async () => {
    const { code, out, err } = await agent.spawned(
      [
        ...['exec', '--with', 'A=one', '--with', 'B=two', '--'],
        ...[process.execPath, '-e', PRINT, '--', '--debug', '--', '--format=json'],
      ],
      { input: 'from stdin' },
    );
    expect({ code, err }).toEqual({ code: 42, err: '' });
    expect(JSON.parse(out)).toEqual({
      A: SECRET,
      B: 'second\nvalue',
      input: 'from stdin',
      args: ['--debug', '--', '--format=json'],
    });
  });

  test('ends as a command that a signal ended', async () => {
    expect(await exec('--with', 'A=one', '--', 'sh', '-c', 'kill -9 $$')).toMatchObject({ code: 137 });
  });

  test('127 where there is no such command, 126 where it cannot be run', async () => {
    const missing = await exec('--with', 'A=one', '--', 'no-such-command-here');
    expect(missing).toEqual({ code: 127, out: '', err: 'error: there is no command no-such-command-here\n' });
    const path = join(agent.dir, 'not-executable');
    writeFileSync(path, '#!/bin/sh\n');
    chmodSync(path, 0o600);
    expect(await exec('--with', 'A=one', '--', path)).toMatchObject({ code: 126, out: '' });
  });

  test('starts nothing where one credential cannot be had', async () => {
    const { code, out, err } = await exec('--with', 'A=one', '--with', 'B=missing', '--', 'false');
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
});

/** Says when it runs and which signals it gets, and ends by SIGTERM. */
const LISTENING = `
for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'])
  process.on(signal, () => process.stdout.write(signal, () => signal === 'SIGTERM' && process.exit(7)));
setInterval(() => undefined, 60_000);
process.stdout.write('runs');`;

/** Of the agent, for a process that is not started by a test. */
const agentEnv = () => ({
  SVAULT_CONFIG_DIR: agent.dir,
  SVAULT_KEYCHAIN: 'off',
  SVAULT_BASE_URL: people.pair.controlPlaneUrl(),
  SVAULT_KEY: agent.key,
});

test('a command that runs gets svault’s signals, and alone has the credential in its environment', async () => {
  const args = ['exec', '--with', 'A=one', '--', process.execPath, '-e', LISTENING];
  const svault = spawn(process.execPath, [BIN, ...args], {
    env: { PATH: process.env['PATH'], ...agentEnv() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => svault.once('exit', resolve));
  let out = '';
  svault.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const said = async (text: string): Promise<void> => {
    while (!out.endsWith(text)) await once(svault.stdout, 'data');
  };
  await said('runs');
  if (process.platform === 'linux') {
    const own = `/proc/${svault.pid}`;
    const [child] = readFileSync(`${own}/task/${svault.pid}/children`, 'utf8').trim().split(' ');
    const environment = readFileSync(`/proc/${child}/environ`, 'utf8');
    expect(environment).toContain(`A=${SECRET}`);
    expect(environment).not.toContain(agent.key);
    for (const file of ['environ', 'cmdline', 'comm'])
      expect(readFileSync(`${own}/${file}`, 'utf8')).not.toContain(SECRET);
  }
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    svault.kill(signal);
    await said(signal);
  }
  expect(await ended).toBe(7);
});

describe('get --credential-process', () => {
  test('is what AWS clients read', async () => {
    const config = join(agent.dir, 'aws', 'config');
    mkdirSync(join(agent.dir, 'aws'), { recursive: true });
    const env = Object.entries(agentEnv()).map(([name, value]) => `${name}=${value}`);
    const command = `env ${env.join(' ')} ${process.execPath} ${BIN} get aws --credential-process`;
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
