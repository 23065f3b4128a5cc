import type { CommandNode, CommandTree, Flag, Values } from './command-tree.ts';

/** A line of a shell's `case`: the patterns, each a text after which anything may be where `open`, and what they stand for. */
export interface Case {
  /** `AT/WORD`: where a word stands and the word; the star is any command. */
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

/** Those that have something below them. */
export const parents = ({ nodes }: CommandTree): readonly CommandNode[] =>
  nodes.filter(({ commands }) => commands.length > 0);

/** Those that have flags of their own. */
export const flagged = ({ nodes }: CommandTree): readonly CommandNode[] =>
  nodes.filter(({ flags }) => flags.length > 0);
