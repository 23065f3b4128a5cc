/** A container engine kills what is not gone 10 s after it was asked to stop, and this comes first. */
const STOPPED_WITHIN_MS = 9_500;
/** What a stop may take once requests are not taken any more: their grace time, and giving everything back. */
const AFTER_DRAIN_MS = 6_500;

/**
 * Runs `stop` once, at the first SIGTERM or SIGINT, then ends the process: 0 when it stopped cleanly, else 1. One that takes
 * too long, with a database that does not hang up for instance, is ended all the same: what was answered is stored by then.
 *
 * A further Ctrl-C ends it at once, for the operator who does not want to wait. A further SIGTERM changes nothing:
 * a launcher sends one to a child that the terminal's Ctrl-C has reached already.
 */
export function onStop(
  stop: () => Promise<void>,
  { drainSeconds, err }: { readonly drainSeconds: number; readonly err: (text: string) => void },
): void {
  const mostMs = Math.max(STOPPED_WITHIN_MS, drainSeconds * 1000 + AFTER_DRAIN_MS);
  let stopping = false;
  const first = (): void => {
    stopping = true;
    setTimeout(() => {
      err(`not everything could be stopped within ${mostMs / 1000} s\n`);
      process.exit(1);
    }, mostMs).unref();
    stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', () => {
    if (!stopping) first();
  });
  process.on('SIGINT', () => {
    if (stopping) process.exit(1);
    first();
  });
}
