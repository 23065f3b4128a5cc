import type { Command } from 'commander';
import type { GlobalFlags } from './global-flags.ts';
import type { Invocation, Run } from './invocation.ts';
import { wantsColor } from './output/wants-color.ts';

/** What of an invocation is known before the command line is read. */
export type Surroundings = Pick<Invocation, 'terminal' | 'env' | 'signal'>;

/** Makes commander's action of a command's module. */
export type Action = (
  load: () => Promise<{ readonly run: Run<never, never> }>,
) => (...given: unknown[]) => Promise<void>;

/** A command's module is loaded when it runs, so that `--help` and every other command start without it. */
export function lazily(surroundings: Surroundings): Action {
  return (load) =>
    async (...given) => {
      // Commander hands over the operands, then the options, then the command.
      const command = given.at(-1) as Command;
      const flags = command.optsWithGlobals<GlobalFlags>();
      const color = flags.color && wantsColor(surroundings);
      const { run } = await load();
      await run({ ...surroundings, flags, color }, given.slice(0, -2) as never, given.at(-2) as never);
    };
}
