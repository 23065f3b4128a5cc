import type { Command } from 'commander';
import type { GlobalFlags } from '../global-flags.ts';
import type { Invocation, Run } from '../invocation.ts';
import { wantsColor } from '../output/wants-color.ts';

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
      await run({ ...surroundings, flags, color }, given.slice(0, -2) as never, given.at(-2) as never);
    };
}

/** Command lines that show what a command is for; for the end of its help. */
export const examples = (...lines: readonly string[]): string =>
  ['', 'Examples:', ...lines.map((line) => `  $ ${line}`)].join('\n');

/** For an option that may be repeated: all its values, in order. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
];
