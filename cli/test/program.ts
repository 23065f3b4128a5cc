import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { createProgram } from '../src/program.ts';

/** The whole command line, to be looked at: what it writes is dropped. */
export const programToLookAt = (): Command =>
  createProgram({
    terminal: {
      out: () => undefined,
      err: () => undefined,
      stdin: Readable.from([]),
      interactive: { in: false, out: false, err: false },
      columns: undefined,
    },
    env: {},
    signal: new AbortController().signal,
  });
