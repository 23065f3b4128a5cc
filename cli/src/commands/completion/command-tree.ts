import type { Command, Option } from 'commander';
import { EXPLAINED_CODES } from '../explain/explained-codes.ts';
import { unique } from '../../one-by-one.ts';

/**
 * What a value can be. A list: one of it. `contexts`: a login that is kept. `commands`: a program of this machine.
 */
export type Values = readonly string[] | 'contexts' | 'files' | 'folders' | 'commands' | 'anything';

/** What a word can be, and what it is for. */
export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** A flag in one of its spellings. */
export interface Flag extends Candidate {
  /** Undefined where it takes none. */
  readonly values: Values | undefined;
}

/** A command, as completion knows it. */
export interface CommandNode {
  /** Its words, without aliases: '' is the program itself, 'agents list' a command of a command. */
  readonly path: string;
  /** Those below it, by name and by alias; each word leads to the path of one. */
  readonly commands: readonly (Candidate & { readonly to: string })[];
  /** Its own, in all spellings. */
  readonly flags: readonly Flag[];
  /** In their order. */
  readonly operands: readonly Values[];
  /** Of all that follow. */
  readonly furtherOperands: Values;
}

/** A whole command line. */
export interface CommandTree {
  /** The program first. */
  readonly nodes: readonly CommandNode[];
  /** What every command takes. */
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
  const below = command.commands.map((each) => ({ each, to: `${path} ${each.name()}`.trim() }));
  const operands = command.registeredArguments.map(
    (argument) => argument.argChoices ?? OPERANDS[`${path} ${argument.name()}`] ?? 'anything',
  );
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
    furtherOperands: operands[0] === 'commands' ? 'files' : 'anything',
  };
  return [node, ...below.flatMap(({ each, to }) => nodesOf(each, to))];
}

/** By command and operand; what commander does not know of them. */
const OPERANDS: Readonly<Record<string, Values>> = {
  'use name': 'contexts',
  'context use name': 'contexts',
  'context rm name': 'contexts',
  'exec command': 'commands',
  'explain code': unique(EXPLAINED_CODES.map(({ code }) => code.replace(/^-/, ''))),
  'webhook init folder': 'folders',
  'webhook up folder': 'folders',
  'webhook down folder': 'folders',
};

/** By the placeholder behind a flag. */
const PLACEHOLDERS: Readonly<Record<string, Values>> = { file: 'files', folder: 'folders' };

function spellings({ flags, description, argChoices, required }: Option): readonly Flag[] {
  const [, placeholder = ''] = /<([^>]*)>/.exec(flags) ?? [];
  const words = flags.replace(/\s*<.*$/, '').split(/[ ,|]+/);
  const valued = words.includes('--context') ? 'contexts' : (PLACEHOLDERS[placeholder] ?? 'anything');
  const values = required ? (argChoices ?? valued) : undefined;
  return words.map((word) => ({ word, about: description, values }));
}
