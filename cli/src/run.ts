import { CommanderError } from 'commander';
import { CommandEnded, EXIT_CODES, Failure, Interrupted, failed, failureLine } from './failure.ts';
import type { GlobalFlags } from './global-flags.ts';
import { DryRunDone } from './http/dry-run.ts';
import type { Invocation } from './invocation.ts';
import { plainLine, plainLines } from './output/plain-line.ts';
import { createProgram } from './program.ts';

/** Runs one command line. @param args without the interpreter and the script. @returns the exit code; see `EXIT_CODES` */
export async function run(
  args: readonly string[],
  surroundings: Pick<Invocation, 'terminal' | 'env' | 'signal'>,
): Promise<number> {
  const program = createProgram(surroundings, args[0]);
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT_CODES.ok.code;
  } catch (error) {
    // Commander has said it already.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.usage.code;
    if (error instanceof DryRunDone) return EXIT_CODES.ok.code;
    if (error instanceof CommandEnded) return error.exitCode;
    if (surroundings.signal.aborted || error instanceof Interrupted) return EXIT_CODES.interrupted.code;
    surroundings.terminal.err(errorText(error, program.opts<GlobalFlags>().debug === true));
    return error instanceof Failure ? error.exitCode : EXIT_CODES.failed.code;
  }
}

/**
 * The text of an error for a person: one line, harmless even where another machine wrote parts of it.
 * @param debug with where it comes from
 */
export function errorText(error: unknown, debug: boolean): string {
  if (!(error instanceof Error)) return `error: ${plainLine(String(error))}\n`;
  // Others wrote parts of the message that it begins with.
  if (debug) return `error: ${plainLines(error.stack ?? error.message).join('\n')}\n`;
  return failureLine(error instanceof Failure ? error : failed(error.message));
}
