import { Command, Option } from 'commander';
import { Failure } from '../failure.ts';
import type { GlobalFlags } from '../global-flags.ts';
import type { Invocation, Run } from '../invocation.ts';
import { wantsColor } from '../output/wants-color.ts';
import { inFlags } from './option-flags.ts';

/** The part of an invocation that is known before the command line is read. */
export type Surroundings = Pick<Invocation, 'terminal' | 'env' | 'signal'>;

/** Makes commander's action of a function that a module exports. */
export type Action = <Name extends string>(
  load: () => Promise<Readonly<Record<Name, Run<never, never>>>>,
  name: Name,
) => (...given: unknown[]) => Promise<void>;

/** A command's module is loaded when it runs, so that `--help` and every other command start without it. */
export function lazily(surroundings: Surroundings): Action {
  return (load, name) =>
    async (...given) => {
      // Commander passes the operands, then the options, then the command.
      const command = given.at(-1) as Command;
      const flags = command.optsWithGlobals<GlobalFlags>();
      const color = flags.color && wantsColor(surroundings);
      const { [name]: run } = await load();
      try {
        await run({ ...surroundings, flags, color }, given.slice(0, -2) as never, given.at(-2) as never);
      } catch (error) {
        throw error instanceof Failure && error.issues.length > 0 ? inFlags(error, command) : error;
      }
    };
}

/** Command lines that show what a command is for; for the end of its help. */
export const examples = (...lines: readonly string[]): string =>
  ['', 'Examples:', ...lines.map((line) => `  $ ${line}`)].join('\n');

/** A command of a noun: what its help says, and which function of the noun's module it runs. */
export interface Declaration<Name extends string> {
  readonly says: string;
  /** For the list of commands, where `says` is longer than a line. */
  readonly summary?: string;
  readonly alias?: string;
  /** `<one>`, `[optional]` or `<several...>` → what it is, in the order of the command line. */
  readonly operands?: Readonly<Record<string, string>>;
  readonly options?: readonly (readonly [flags: string, says: string] | Option)[];
  readonly examples: readonly string[];
  /** Runs where the noun stands alone. */
  readonly isDefault?: true;
  readonly run: Name;
}

/** A noun and all below it: `agents list`, `agents show`, …; its module is loaded when one of them runs. */
export function nounCommand<Name extends string>(
  action: Action,
  noun: {
    readonly name: string;
    readonly alias?: string;
    readonly summary: string;
    readonly description: string;
    readonly load: () => Promise<Readonly<Record<NoInfer<Name>, Run<never, never>>>>;
    readonly commands: Readonly<Record<string, Declaration<Name>>>;
  },
): Command {
  const parent = new Command(noun.name).summary(noun.summary).description(noun.description);
  if (noun.alias !== undefined) parent.alias(noun.alias);
  for (const [name, declaration] of Object.entries(noun.commands))
    parent.addCommand(declared(action, noun.load, name, declaration), {
      isDefault: declaration.isDefault === true,
    });
  return parent;
}

function declared<Name extends string>(
  action: Action,
  load: () => Promise<Readonly<Record<Name, Run<never, never>>>>,
  name: string,
  { says, summary, alias, operands = {}, options = [], examples: lines, run }: Declaration<Name>,
): Command {
  const command = new Command(name).description(says);
  if (summary !== undefined) command.summary(summary);
  if (alias !== undefined) command.alias(alias);
  for (const [operand, about] of Object.entries(operands)) command.argument(operand, about);
  for (const option of options)
    if (option instanceof Option) command.addOption(option);
    else command.option(...option);
  return command.addHelpText('after', examples(...lines)).action(action(load, run));
}

/** The option of commands that ask before they do something that cannot be taken back. */
export const YES = ['-y, --yes', 'do not ask'] as const;

/** The option of lists that are searched by name. */
export const NAMED = [
  '--name <text>',
  'only those whose name contains this, in upper or lower case',
] as const;

/** For an option that may be repeated: all its values, in order. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
];
