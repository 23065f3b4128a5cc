import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { afterAll, expect, test } from 'vitest';
import { EXIT_CODES } from '../src/failure.ts';
import { createProgram } from '../src/program.ts';
import { commandLine, seat } from './command-line.ts';

// What the command line is called, what it prints of itself, and what it refuses before a command runs.

const person = commandLine();
afterAll(() => person.remove());
const { svault } = person;
const program = createProgram({ ...seat(), env: {}, signal: new AbortController().signal });
const textOf = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');

/**
 * The specification's table "Command-line client", and the commands beyond it: aliases stand behind a bar, a shortcut behind
 * a comma.
 */
const TABLE = [
  ...[
    'tokens|tk list|ls, ls',
    'tokens|tk get, get',
    'tokens|tk show|info, show',
    'tokens|tk create|new, add',
  ],
  ...['tokens|tk set|up, set', 'tokens|tk edit', 'tokens|tk rm|delete, rm|delete', 'tokens|tk refresh'],
  ...[
    'tokens|tk history',
    'tokens|tk store-ticket',
    'agents|ag list|ls',
    'agents|ag show',
    'agents|ag create',
  ],
  ...['agents|ag edit', 'agents|ag suspend|off', 'agents|ag resume|on', 'agents|ag rm|delete'],
  ...['agents|ag rotate-key', 'agents|ag reveal-key', 'grants|gr add, grant', 'grants|gr list|ls'],
  ...[
    'grants|gr rm|delete',
    'vault status|stat',
    'vault lock',
    'vault unlock',
    'vault edit',
    'login',
    'logout',
  ],
  ...['whoami|who', 'use, context|ctx use', 'context|ctx list|ls', 'context|ctx current'],
  ...['context|ctx rm|delete', 'webhook|wh status', 'webhook|wh bind', 'webhook|wh init', 'webhook|wh up'],
  ...['webhook|wh down', 'webhook|wh rotate-secret', 'webhook|wh unbind', 'folders list|ls', 'folders show'],
  ...['folders create', 'folders edit', 'folders rm|delete', 'folders grant', 'policies|pol list|ls'],
  ...['policies|pol show', 'policies|pol export', 'policies|pol apply', 'policies|pol diff'],
  ...['policies|pol preview'],
  ...['policies|pol simulate', 'policies|pol test', 'policies|pol attach', 'policies|pol detach'],
  ...['policies|pol rm|delete', 'proxies|px list|ls', 'proxies|px show', 'proxies|px create'],
  ...['proxies|px edit', 'proxies|px reveal-key', 'proxies|px revoke', 'proxies|px rm|delete'],
  ...[
    'audit list|ls',
    'audit show',
    'audit export',
    'audit verify',
    'audit checkpoint',
    'audit compare',
    'limits list|ls',
    'limits usage',
    'account overview',
    'account activity',
    'account active-agents',
    'account attention',
    'account dismiss',
    'account export',
  ],
  ...['account password', 'members list|ls', 'members add', 'members edit', 'members invite'],
  ...['notifications list|ls', 'notifications create', 'notifications test', 'notifications rm|delete'],
  ...[
    'approvals|apr list|ls',
    'approvals|apr show',
    'approvals|apr approve',
    'approvals|apr deny',
    'approve',
  ],
  ...['members rm|delete', 'sessions list|ls', 'sessions rm|end|delete', 'admin-keys list|ls'],
  ...['admin-keys create', 'admin-keys rm|delete', 'providers list|ls', 'providers create'],
  ...[
    'providers edit',
    'providers rm|delete',
    'exec',
    'run',
    'import',
    'completion',
    'help',
    'explain',
    'doctor',
    'reach',
    'complete-names',
    'version',
  ],
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
  'svault %s --help says what it does, each alias, operand and flag, and where the exit codes and global flags are',
  async (words, command) => {
    const page = await svault([...words.split(' ').filter((word) => word !== ''), '--help']);
    expect({ ...page, out: '' }).toEqual({ code: 0, out: '', err: '' });
    expect(page.out.trimEnd().endsWith('Also: svault help global-flags, svault help exit-codes')).toBe(true);
    expect(page.out.includes('--dry-run')).toBe(command.parent === null);
    for (const text of command.aliases().slice(0, 1)) expect(page.out).toContain(text);
    expect(command.description()).not.toBe('');
    for (const { description, argChoices } of [...command.options, ...command.registeredArguments])
      expect(description !== '' || argChoices !== undefined, page.out).toBe(true);
    expect(await svault(['help', ...words.split(' ').filter((word) => word !== '')])).toEqual(page);
  },
);

test('svault help exit-codes names each exit code, and help global-flags each flag that all commands take', async () => {
  const { out: codes } = await svault(['help', 'exit-codes']);
  expect([...codes.matchAll(/^ +(\d+) /gm)].map(([, code]) => Number(code))).toEqual(
    Object.values(EXIT_CODES).map(({ code }) => code),
  );
  const { out: flags } = await svault(['help', 'global-flags']);
  expect([...flags.matchAll(/^ +(--[\w-]+)/gm)].map(([, flag]) => flag)).toEqual(
    program.options
      .map(({ long }) => long)
      .map((long) => (long === '--ctx' ? '--context' : long))
      .filter((long) => long !== '--version')
      .map(String),
  );
});

/** Words of a line of a shell, up to what is not svault's. */
const wordsIn = (line: string): readonly string[] =>
  [...(line.split(/ (?:[|#<>]|\|\|) ?/)[0] ?? '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  );

const LEAVES = pagesOf(program).filter(([, command]) => command.commands.length === 0);

/** Commands with nothing to vary, and how many examples they have. */
const FEWER: Readonly<Record<string, number>> = { version: 2 };

test.each(LEAVES)('the help of svault %s has three examples, and each is a command line', async (words) => {
  const { out } = await svault([...words.split(' '), '--help']);
  const [, text = ''] = /\nExamples:\n((?: {2}\$ .*\n)+)/.exec(out) ?? [];
  const shown = text.trimEnd().split('\n');
  expect(new Set(shown).size).toBeGreaterThanOrEqual(FEWER[words] ?? 3);
  // Each svault of a pipe; one in a substitution is an argument of another program.
  const lines = shown.flatMap((line) =>
    [...line.matchAll(/(?<=[$|] )svault .*?(?= \| |$)/g)].map(([found]) => wordsIn(found).slice(1)),
  );
  expect(lines.length).toBeGreaterThanOrEqual(shown.length - (words === 'completion' ? 1 : 0));
  for (const line of lines) {
    const parsing = createProgram({ ...seat(), env: {}, signal: new AbortController().signal });
    for (const [, command] of pagesOf(parsing)) command.action(() => undefined);
    await parsing.parseAsync(line, { from: 'user' });
  }
});

test('a command line declares the command that it begins with alone, and the same as among all', () => {
  const surroundings = { ...seat(), env: {}, signal: new AbortController().signal };
  const helpOf = (command: Command): string[] => [
    command.helpInformation(),
    ...command.commands.flatMap((each) => helpOf(each)),
  ];
  for (const among of program.commands) {
    const { commands } = createProgram(surroundings, among.name());
    if (['completion', 'help'].includes(among.name())) expect(commands).toHaveLength(program.commands.length);
    else expect(commands.map((alone) => helpOf(alone))).toEqual([helpOf(among)]);
  }
  const names = program.commands.map((command) => command.name());
  for (const other of ['tk', '--json', 'frobnicate', ''])
    expect(createProgram(surroundings, other).commands.map((command) => command.name())).toEqual(names);
});

test('--version, -v and version print the version of the package', async () => {
  const { version } = JSON.parse(textOf('package.json')) as { version: string };
  for (const words of ['--version', '-v', 'version'])
    expect(await svault([words])).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

test('global flags stand on either side of the command', async () => {
  const before = await svault(['--format', 'json', 'explain', 'EMPTY_TOKEN']);
  expect(JSON.parse(before.out)).toMatchObject([{ code: 'EMPTY_TOKEN' }]);
  expect(await svault(['explain', 'EMPTY_TOKEN', '--format', 'json'])).toEqual(before);
  for (const words of [
    ['--json', 'explain', 'EMPTY_TOKEN'],
    ['explain', 'EMPTY_TOKEN', '--json'],
  ])
    expect(await svault(words)).toEqual(before);
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
  [['start', 'x'], /^error: unknown command 'start'/],
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
