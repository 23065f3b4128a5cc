import type { Command, Option } from 'commander';
import { unique } from '../../one-by-one.ts';
import { EXPLAINED_CODES } from '../explain/explained-codes.ts';

/** Kinds of names that the control plane is asked for. */
export type NameKind =
  | 'services'
  | 'agents'
  | 'folders'
  | 'policies'
  | 'proxies'
  | 'members'
  | 'providers'
  | 'sessions'
  | 'approvals'
  | 'notifications'
  | 'admin-keys';

/**
 * What a value can be. A list: one of it. `contexts`: a login that is kept. `commands`: a program of this machine. `names …`:
 * what the control plane has of a kind.
 */
type Values =
  readonly string[] | 'contexts' | 'files' | 'folders' | 'commands' | 'anything' | `names ${NameKind}`;

/** What a word can be, and what it is for. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

interface Flag extends Candidate {
  readonly values: Values | undefined;
}

interface CommandNode {
  /** Its words, without aliases: '' is the program itself, 'agents list' a command of a command. */
  readonly path: string;
  /** Those below it, by name and by alias; each word leads to the path of one. */
  readonly commands: readonly (Candidate & { readonly to: string })[];
  readonly flags: readonly Flag[];
  readonly operands: readonly Values[];
  readonly furtherOperands: Values;
}

/** A whole command line. */
export interface CommandTree {
  readonly nodes: readonly CommandNode[];
  readonly globalFlags: readonly Flag[];
}

/** Every command of a program. */
export function commandTree(program: Command): CommandTree {
  const help = program
    .createHelp()
    .visibleOptions(program)
    .filter(({ long }) => long === '--help');
  const isGlobal = ({ long }: Option): boolean => long !== '--version';
  return {
    nodes: nodesOf(
      program,
      '',
      program.options.filter((option) => !isGlobal(option)),
    ),
    globalFlags: [...program.options.filter(isGlobal), ...help].flatMap(spellings),
  };
}

function nodesOf(command: Command, path: string, flags = command.options): readonly CommandNode[] {
  const below = command
    .createHelp()
    .visibleCommands(command)
    .map((each) => ({ each, to: `${path} ${each.name()}`.trim() }));
  const operands = command.registeredArguments.map(
    (argument) =>
      argument.argChoices ?? OPERANDS[`${path} ${argument.name()}`] ?? NAMED[argument.name()] ?? 'anything',
  );
  const last = command.registeredArguments.at(-1)?.variadic === true ? operands.at(-1) : undefined;
  const node: CommandNode = {
    path,
    commands: below.flatMap(({ each, to }) =>
      [each.name(), ...each.aliases()].map((word) => ({
        word,
        about: each.summary() || each.description(),
        to,
      })),
    ),
    flags: flags.flatMap(spellings),
    operands,
    furtherOperands: operands[0] === 'commands' ? 'files' : (last ?? 'anything'),
  };
  return [node, ...below.flatMap(({ each, to }) => nodesOf(each, to))];
}

const OPERANDS: Readonly<Record<string, Values>> = {
  // What these name is new.
  'add service': 'anything',
  'tokens create service': 'anything',
  'use name': 'contexts',
  'context use name': 'contexts',
  'context rm name': 'contexts',
  'exec command': 'commands',
  'explain code': unique(EXPLAINED_CODES.map(({ code }) => code.replace(/^-/, ''))),
  'webhook init folder': 'folders',
  'webhook up folder': 'folders',
  'webhook down folder': 'folders',
};

/** Operands, and values of flags, by what they are called. */
const NAMED: Readonly<Record<string, Values>> = {
  service: 'names services',
  agent: 'names agents',
  folder: 'names folders',
  policy: 'names policies',
  proxy: 'names proxies',
  member: 'names members',
  provider: 'names providers',
  session: 'names sessions',
  approval: 'names approvals',
  channel: 'names notifications',
  key: 'names admin-keys',
  file: 'files',
};

const PLACEHOLDERS: Readonly<Record<string, Values>> = {
  file: 'files',
  folder: 'folders',
  agent: 'names agents',
  proxy: 'names proxies',
  service: 'names services',
};

function spellings({ flags, description, argChoices, required }: Option): readonly Flag[] {
  const [, placeholder = ''] = /<([^>]*)>/.exec(flags) ?? [];
  const words = flags.replace(/\s*<.*$/, '').split(/[ ,|]+/);
  const valued = words.includes('--context') ? 'contexts' : (PLACEHOLDERS[placeholder] ?? 'anything');
  const values = required ? (argChoices ?? valued) : undefined;
  return words.map((word) => ({ word, about: description, values }));
}

/** A line of a shell's `case`: the pattern and its value. */
export interface Case {
  /** `AT/WORD`: the command before a word, and the word; a star matches any command. */
  readonly key: string;
  readonly value: string;
}

/** A list of values as the scripts know it; the words of one have no spaces. */
const kindOf = (values: Values): string =>
  typeof values === 'string' ? values : `one of ${values.join(' ')}`;

/** `AT/WORD` → the command that it leads to. */
export const steps = ({ nodes }: CommandTree): readonly Case[] =>
  nodes.flatMap(({ path, commands }) =>
    commands.map(({ word, to }) => ({ key: `${path}/${word}`, value: to })),
  );

/** `AT/FLAG` → what the flag takes; those of every command have a star for AT. Flags that take nothing are left out. */
export const valuedFlags = ({ nodes, globalFlags }: CommandTree): readonly Case[] => [
  ...taking('*', globalFlags),
  ...nodes.flatMap(({ path, flags }) => taking(path, flags)),
];

const taking = (at: string, flags: readonly Flag[]): readonly Case[] =>
  flags.flatMap(({ word, values }) =>
    values === undefined ? [] : [{ key: `${at}/${word}`, value: kindOf(values) }],
  );

/** `AT/INDEX` → what the operand is; a star for the index of all that follow. Those that can be anything are left out. */
export const operands = ({ nodes }: CommandTree): readonly Case[] =>
  nodes
    .flatMap(({ path, operands: known, furtherOperands }) => [
      ...known.map((values, index) => ({ key: `${path}/${index}`, value: kindOf(values) })),
      { key: `${path}/*`, value: kindOf(furtherOperands) },
    ])
    .filter(({ value }) => value !== 'anything');

export const parents = ({ nodes }: CommandTree): readonly CommandNode[] =>
  nodes.filter(({ commands }) => commands.length > 0);

export const flagged = ({ nodes }: CommandTree): readonly CommandNode[] =>
  nodes.filter(({ flags }) => flags.length > 0);

/** A star matches anything; the rest matches itself. */
const pattern = (key: string): string =>
  key
    .split('*')
    .map((part) => (part === '' ? '' : `'${part}'`))
    .join('*');

/** The functions of bash and zsh that look a word up. @param open before each pattern */
export function lookups(tree: CommandTree, open: '' | '(' = ''): string {
  const lookup = (about: string, name: string, all: readonly Case[], variable: string, none: string) =>
    `# ${about}: sets ${variable}.
_svault_${name}() {
  case $1/$2 in
${all.map(({ key, value }) => `    ${open}${pattern(key)}) ${variable}='${value}' ;;\n`).join('')}    ${open}*) ${none} ;;
  esac
}
`;
  return [
    lookup('The command that a word leads to', 'step', steps(tree), 'at', 'return 1'),
    lookup('What a flag takes', 'takes', valuedFlags(tree), 'takes', "takes=''"),
    lookup('What an operand is', 'operand', operands(tree), 'kind', "kind=''"),
  ].join('\n');
}
