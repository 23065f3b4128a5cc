#!/usr/bin/env node
import { run } from './run.ts';

// A reader that has seen enough, such as head, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const interruption = new AbortController();
process.once('SIGINT', () => interruption.abort());

process.exitCode = await run(process.argv.slice(2), {
  terminal: {
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    stdin: process.stdin,
    interactive: { in: process.stdin.isTTY, out: process.stdout.isTTY, err: process.stderr.isTTY },
    columns: process.stdout.columns,
  },
  env: process.env,
  signal: interruption.signal,
});
