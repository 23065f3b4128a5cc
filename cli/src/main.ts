import { isatty } from 'node:tty';
import { EXIT_CODES } from './failure.ts';
import { run, errorText } from './run.ts';

/** Runs the command line of this process; the only place that knows of one. */
export async function main(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe);
  // An unexpected error is one line as well; its stack would not help the reader.
  process.once('uncaughtException', (error) => {
    process.stderr.write(errorText(error, process.argv.includes('--debug')));
    process.exit(EXIT_CODES.failed.code);
  });
  const interruption = new AbortController();
  // Once: a second Ctrl-C ends a command that does not heed the first. It goes on listening while the first is handed round:
  // the library of lock files ends a process that has no other listener.
  const interrupt = (): void => {
    interruption.abort();
    setImmediate(() => process.off('SIGINT', interrupt));
  };
  process.on('SIGINT', interrupt);

  const env = { ...process.env };
  // This client always verifies certificates, also where the shell switches that off; a command of exec keeps the variable.
  delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];

  const args = process.argv.slice(2);
  process.exitCode = await run(args, {
    terminal: {
      out: (text) => process.stdout.write(text),
      written: (text) =>
        new Promise((resolve, reject) => {
          process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
        }),
      err: (text) => process.stderr.write(text),
      // Opened by those who read it: that takes time, and changes the modes of a terminal.
      get stdin() {
        return process.stdin;
      },
      interactive: { in: isatty(0), out: isatty(1), err: isatty(2) },
      // A terminal without a size says 0.
      columns: process.stdout.columns > 0 ? process.stdout.columns : undefined,
    },
    env,
    signal: interruption.signal,
  });
  // A shell waits for it, though a keychain or a network may not have answered yet.
  if (args[0] === 'complete-names') process.exit();
}

/** A reader that has seen enough, such as head, is no error. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}
