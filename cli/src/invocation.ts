import type { Readable } from 'node:stream';
import type { GlobalFlags } from './global-flags.ts';

/** What surrounds one run of a command. */
export interface Invocation {
  readonly flags: GlobalFlags;
  readonly terminal: Terminal;
  /** Whether stdout shows colours: a terminal that knows them, no `--no-color`, no NO_COLOR. */
  readonly color: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/**
 * What a command does.
 * @param operands in the order of the command line; a variadic one is an array
 * @param options of this command; the global ones are in `invocation.flags`
 * @throws Failure with the exit code
 */
export type Run<Operands extends readonly unknown[] = readonly unknown[], Options = object> = (
  invocation: Invocation,
  operands: Operands,
  options: Options,
) => Promise<void>;

/** Where a command reads and writes. Data goes to `out` and everything else to `err`, so that a pipe gets data alone. */
interface Terminal {
  out(text: string | Uint8Array): void;
  /** As `out`. Resolves when the system has taken the text; rejects where nobody reads any more. */
  written(text: string): Promise<void>;
  err(text: string): void;
  readonly stdin: Readable;
  /** Whether a person sits at the stream. */
  readonly interactive: { readonly in: boolean; readonly out: boolean; readonly err: boolean };
  /** Width of stdout in columns; undefined where it is no terminal, and nothing has to fit. */
  readonly columns: number | undefined;
}
