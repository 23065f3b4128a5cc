import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { afterAll, expect, test } from 'vitest';
import { exitCodeTable } from '../src/failure.ts';
import { createProgram } from '../src/program.ts';
import { commandLine, seat } from './command-line.ts';

// What the command line is called, what it prints of itself, and what it refuses before a command runs.

const person = commandLine();
afterAll(() => person.remove());
const { svault } = person;
const program = createProgram({ ...seat(), env: {}, signal: new AbortController().signal });
const textOf = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

/** The specification's table "Command-line client": aliases follow a bar, a shortcut follows a comma. */
const TABLE = [
  ...['tokens|tk list, ls', 'tokens|tk get, get', 'tokens|tk show|info, show', 'tokens|tk create|new, add'],
  ...[
    'tokens|tk set|up, set',
    'tokens|tk edit',
    'tokens|tk rm, rm',
    'tokens|tk refresh',
    'tokens|tk history',
  ],
  ...['tokens|tk store-ticket', 'agents|ag list', 'agents|ag show', 'agents|ag create', 'agents|ag edit'],
  ...['agents|ag suspend|off', 'agents|ag resume|on', 'agents|ag rm', 'grants|gr add, grant'],
  ...['grants|gr list', 'grants|gr rm', 'vault status|stat', 'vault lock', 'vault unlock', 'login', 'logout'],
  ...['whoami|who', 'use, context|ctx use', 'context|ctx list|ls', 'context|ctx current', 'context|ctx rm'],
  ...['webhook|wh status', 'webhook|wh bind', 'webhook|wh init', 'webhook|wh up', 'webhook|wh down'],
  ...['exec', 'completion', 'help', 'explain'],
];

const combined = (before: readonly string[], names: readonly string[]): string[] =>
  before.flatMap((words) => names.map((name) => `${words} ${name}`.trim()));
const spelled = (way: string): readonly string[] =>
  way.split(' ').reduce<readonly string[]>((words, word) => combined(words, word.split('|')), ['']);

function spelledBy(command: Command, before: readonly string[] = ['']): readonly string[] {
  const here = combined(before, [command.name(), ...command.aliases()]);
  return command.commands.length === 0 ? here : command.commands.flatMap((each) => spelledBy(each, here));
}

test('every command of the specification’s table is there by each of its names, and no other', () => {
  const wanted = TABLE.flatMap((line) => line.split(', ').flatMap(spelled));
  expect(program.commands.flatMap((each) => spelledBy(each)).toSorted()).toEqual(wanted.toSorted());
});

const pagesOf = (command: Command, words: readonly string[] = []): readonly [string, Command][] => [
  [words.join(' '), command],
  ...command.commands.flatMap((each) => pagesOf(each, [...words, each.name()])),
];

test.each(pagesOf(program))(
  'svault %s --help says what it does, each alias, operand and flag, what all commands take, and the exit codes',
  async (words, command) => {
    const page = await svault([...words.split(' ').filter((word) => word !== ''), '--help']);
    expect({ ...page, out: '' }).toEqual({ code: 0, out: '', err: '' });
    expect(page.out.trimEnd().endsWith(exitCodeTable())).toBe(true);
    for (const text of [...command.aliases(), '--format <format>', '--dry-run'])
      expect(page.out).toContain(text);
    expect(command.description()).not.toBe('');
    for (const { description, argChoices } of [...command.options, ...command.registeredArguments])
      expect(description !== '' || argChoices !== undefined, page.out).toBe(true);
    expect(await svault(['help', ...words.split(' ').filter((word) => word !== '')])).toEqual(page);
  },
);

test('--version is the package’s', async () => {
  const { version } = JSON.parse(textOf('package.json')) as { version: string };
  expect(await svault(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

test('global flags stand on either side of the command', async () => {
  const before = await svault(['--format', 'json', 'explain', 'EMPTY_TOKEN']);
  expect(JSON.parse(before.out)).toMatchObject([{ code: 'EMPTY_TOKEN' }]);
  expect(await svault(['explain', 'EMPTY_TOKEN', '--format', 'json'])).toEqual(before);
});

test.each([
  [['frobnicate'], /^error: /],
  [['--frobnicate'], /^error: unknown option '--frobnicate': svault --help\n$/],
  [['agents', 'create', '--nam', 'x'], /^error: unknown option '--nam' \(Did you mean --name\?\)\n$/],
  [['\u001B[31m\nfrob'], /^error: unknown command ' \[31m frob': svault --help\n$/],
  [['tokens', 'get'], /^error: missing required argument 'service': svault tokens get --help\n$/],
  [['tokens', 'help'], /^error: unknown command 'help': svault tokens --help\n$/],
  [['get', '-x'], /'-x': svault get --help; write an argument that begins with - behind --\n$/],
  [['help', 'tokens', 'frob'], /^error: unknown command 'frob': svault tokens --help\n$/],
  [['--format', 'xml', 'explain'], /^error: option '--format <format>' argument 'xml' is invalid/],
  [['completion', 'tcsh'], /^error: .*Allowed choices are bash, zsh, fish\.\n$/],
  // What may be a secret is not said again.
  [['set', 'github', 'hunter2'], /^error: .*svault set --help.*\n$/],
  [['set', 'github', 'hunter2: a\nhunter2'], /^error: .*svault set --help.*\n$/],
  [['set', 'github', "--secret=it's hunter2\nhunter2"], /^error: .*svault set --help.*\n$/],
])('%j is no command line: exit 2 with one clear line', async (args, said) => {
  const { code, out, err } = await svault(args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(said);
  expect(err).not.toContain('hunter2');
});
