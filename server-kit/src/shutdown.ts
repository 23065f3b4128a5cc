/**
 * What a stop may take once requests are not taken any more: their grace time, a call to a provider that has begun by then,
 * and giving everything back. A container engine kills what is not gone after 10 s, and this comes first.
 */
const STOPPED_WITHIN_MS = 9_500;

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
  const maxMs = drainSeconds * 1000 + STOPPED_WITHIN_MS;
  let stopping = false;
  const first = (): void => {
    stopping = true;
    setTimeout(() => {
      err(`not everything could be stopped within ${maxMs / 1000} s\n`);
      process.exit(1);
    }, maxMs).unref();
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
