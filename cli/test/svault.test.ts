import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const BIN = fileURLToPath(new URL('../src/bin.ts', import.meta.url));

function svault(...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], { encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
}

test('--version is the package’s', () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  expect(svault('--version')).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

test('--help lists the commands, the global flags and the exit codes', () => {
  const { code, out } = svault('--help');
  expect(code).toBe(0);
  for (const shown of [
    '--context, --ctx <name>',
    '--format <format>',
    '--no-color',
    '--debug',
    '--dry-run',
    'explain',
  ])
    expect(out).toContain(shown);
  expect(out).toMatch(/Exit codes:\n {4}0 {2}.*\n {4}1 {2}.*\n {4}2 {2}.*\n {4}3/);
});

test('global flags stand on either side of the command', () => {
  const before = svault('--format', 'json', 'explain', 'EMPTY_TOKEN');
  const after = svault('explain', 'EMPTY_TOKEN', '--format', 'json');
  expect(JSON.parse(before.out)).toMatchObject([{ code: 'EMPTY_TOKEN' }]);
  expect(after.out).toBe(before.out);
});

describe('exit 2 with one clear line', () => {
  test.each([
    [['explain', 'TICKET_LOST'], /^error: there is no code TICKET_LOST; like it: TICKET_INVALID\n$/],
    [['frobnicate'], /^error: /],
    [['--frobnicate'], /^error: unknown option '--frobnicate': svault --help\n$/],
    [['agents', 'create', '--nam', 'x'], /^error: unknown option '--nam' \(Did you mean --name\?\)\n$/],
    [['\u001B[31m\nfrob'], /^error: unknown command ' \[31m frob': svault --help\n$/],
    [['tokens', 'get'], /^error: missing required argument 'service': svault tokens get --help\n$/],
    [['tokens', 'help'], /^error: unknown command 'help': svault tokens --help\n$/],
    [
      ['get', '-x'],
      /^error: unknown option '-x': svault get --help; write an argument that begins with - behind --\n$/,
    ],
    [['help', 'tokens', 'frob'], /^error: unknown command 'frob': svault tokens --help\n$/],
    [['--format', 'xml', 'explain'], /^error: option '--format <format>' argument 'xml' is invalid/],
  ])('%j', (args, said) => {
    const { code, out, err } = svault(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(said);
  });
});

describe('what may be a secret is not said again', () => {
  test.each([
    ['as one operand too many', ['set', 'github', 'hunter2']],
    ['over several lines', ['set', 'github', 'hunter2: a\nhunter2']],
    ['behind a flag that there is not', ['set', 'github', "--secret=it's hunter2\nhunter2"]],
  ])('%s', (_, args) => {
    const { code, err } = svault(...args);
    expect(code).toBe(2);
    expect(err).toMatch(/^error: .*svault set --help.*\n$/);
    expect(err).not.toContain('hunter2');
  });
});

test('help of a command is what --help behind it says', () => {
  for (const words of [[], ['tk', 'info']]) {
    const help = svault('help', ...words);
    expect(help).toEqual(svault(...words, '--help'));
    expect(help.code).toBe(0);
  }
});
