import type { Readable } from 'node:stream';

/** Where a command reads and writes. Data goes to `out` and everything else to `err`, so that a pipe gets data alone. */
export interface Terminal {
  out(text: string | Uint8Array): void;
  err(text: string): void;
  readonly stdin: Readable;
  /** Whether a person sits at the stream. */
  readonly interactive: { readonly in: boolean; readonly out: boolean; readonly err: boolean };
  /** Width of stdout in columns; undefined where it is no terminal, and nothing has to fit. */
  readonly columns: number | undefined;
}
