import type { GlobalFlags } from './global-flags.ts';
import type { Terminal } from './terminal.ts';

/** What surrounds one run of a command. */
export interface Invocation {
  readonly flags: GlobalFlags;
  readonly terminal: Terminal;
  /** Whether stdout shows colours: a terminal that knows them, no `--no-color`, no NO_COLOR. */
  readonly color: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/**
 * What a command does.
 * @param operands as they stand on the command line; a variadic one is an array
 * @param options of this command; the global ones are in `invocation.flags`
 * @throws Failure with the exit code
 */
export type Run<Operands extends readonly unknown[] = readonly unknown[], Options = object> = (
  invocation: Invocation,
  operands: Operands,
  options: Options,
) => Promise<void>;
