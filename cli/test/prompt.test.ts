import { spawn, spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { newKey } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BIN, type CommandLine } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

// What a person sees and types at a real terminal, which `script` of util-linux makes.

const hasTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;
const WITHOUT = hasTerminal ? '' : ' (NOT RUN: there is no script of util-linux)';

let stage: PairAndPeople;
let person: CommandLine;
beforeAll(async () => {
  stage = await pairAndPeople();
  person = stage.stranger({ SVAULT_BASE_URL: stage.pair.controlPlaneUrl() });
});
afterAll(() => stage.close());

/**
 * Runs a command line at a terminal and types, each time something is shown. What is on the screen behind it says whether the
 * terminal echoes again.
 */
async function atTerminal(
  command: string,
  typed: readonly (readonly [shown: RegExp, keys: string])[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const line = `"${process.execPath}" "${BIN}" ${command}; echo "exit $?"; stty -a | grep -o -- '-\\?echo '`;
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: {
      PATH: process.env['PATH'],
      SHELL: '/bin/sh',
      TERM: 'xterm',
      HOME: person.dir,
      SVAULT_CONFIG_DIR: person.dir,
      SVAULT_KEYCHAIN: 'off',
      SVAULT_BASE_URL: stage.pair.controlPlaneUrl(),
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      ...env,
    },
  });
  let screen = '';
  let from = 0;
  const left = [...typed];
  child.stdout.on('data', (chunk: Buffer) => {
    screen += chunk.toString();
    const [next] = left;
    if (next === undefined || !next[0].test(screen.slice(from))) return;
    left.shift();
    from = screen.length;
    child.stdin.write(next[1]);
  });
  await new Promise((resolve) => child.once('close', resolve));
  expect(left, screen).toEqual([]);
  return stripVTControlCharacters(screen).replaceAll(/\r+\n/g, '\n');
}

const login = 'login --key - --as work';
const asked = (reply: string): [RegExp, string][] => [[/Key: /, reply]];

describe.skipIf(!hasTerminal)(`at a terminal${WITHOUT}`, () => {
  test('a secret that is typed is shown nowhere, and the terminal echoes again after it', async () => {
    const screen = await atTerminal(login, asked(`${stage.pair.adminKey}\r`));
    expect(screen).toMatch(/^Key: \nsigned in at .*\n(.*\n)*exit 0\necho $/m);
    expect(screen).not.toContain(stage.pair.adminKey.slice(8));
    expect((await person.svault(['whoami'])).code).toBe(0);
  });

  test.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-C behind what was typed', `${newKey('svagent')}\u0003`],
    ['Ctrl-D', '\u0004'],
  ])('%s at a secret: exit 130, a new line, and nothing else', async (_what, keys) => {
    expect(await atTerminal(login, asked(keys))).toBe('Key: \nexit 130\necho \n');
  });

  test('a question is answered by yes; by no, Enter and Ctrl-C it ends with 130', async () => {
    await stage.admin.svault(['add', 'github'], { input: 'x' });
    const remove = (keys: string): Promise<string> =>
      atTerminal('rm github', [[/\[y\/N\]/, keys]], { SVAULT_KEY: stage.pair.adminKey });
    expect(await remove('\r')).toMatch(/\[y\/N\] \nnothing was done\nexit 130\necho $/m);
    expect(await remove('\u0003')).toMatch(/\[y\/N\] \nexit 130\necho $/m);
    expect((await stage.admin.svault(['show', 'github'])).code).toBe(0);
    expect(await remove('y\r')).toMatch(/\nexit 0\necho $/m);
    expect((await stage.admin.svault(['show', 'github'])).code).toBe(4);
  });

  test('a new secret keeps the restrictions that a person confirms, and is not stored where they say no', async () => {
    const strict = ['--delivery', 'proxy-only', '--allow-host', 'a.example', '--allow-header', 'x-key'];
    await stage.admin.svault(['add', 'kept', ...strict], { input: 'a secret that is long enough' });
    const held = async (): Promise<unknown> =>
      (JSON.parse((await stage.admin.svault(['show', 'kept', '--json'])).out) as { webhook: unknown })
        .webhook;
    const set = (...typed: readonly (readonly [RegExp, string])[]): Promise<string> =>
      atTerminal('set kept', typed, {
        SVAULT_KEY: stage.pair.adminKey,
        SVAULT_WEBHOOK_URL: stage.pair.webhookUrl,
      });
    expect(await set([/\[Y\/n\]/, 'n\r'])).toBe(
      'kept is stored with:\n  --delivery proxy-only\n  --allow-host a.example\n  --allow-header x-key\n' +
        'Keep these? [Y/n] n\nnothing is stored; give the options that it is to have instead\nexit 130\necho \n',
    );
    expect(await held()).toMatchObject({ version: 1 });
    expect(await set([/\[Y\/n\]/, '\r'], [/Value of kept: /, 'another one, as long as that\r'])).toMatch(
      /^kept is stored with:\n.*\n.*\n.*\nKeep these\? \[Y\/n\] \nValue of kept: \n.* as version 2\nexit 0\necho \n$/,
    );
    expect(await held()).toMatchObject({
      version: 2,
      delivery: 'proxy-only',
      allowedHosts: ['a.example'],
      allowedHeaders: ['x-key'],
    });
  });
});
