import { text } from 'node:stream/consumers';
import { main } from './command.ts';

// A reader that has seen enough, such as head, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
// A check that failed may leave a request behind whose failure nobody waits for any more.
process.on('unhandledRejection', () => undefined);

const interrupted = new AbortController();
// The first one ends the run in good order, the second one at once.
process.once('SIGINT', () => interrupted.abort());

const CLEAR_LINE = '\r\u001b[K';

process.exitCode = await main(process.argv.slice(2), {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  input: () => text(process.stdin),
  color: process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '',
  signal: interrupted.signal,
  ...(process.stderr.isTTY && { status: (line: string) => process.stderr.write(CLEAR_LINE + line) }),
});
