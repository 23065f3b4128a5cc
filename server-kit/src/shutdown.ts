import type { Logger } from './logger.ts';
import type { StorageFailure } from './storage-failure.ts';

/** For requests, a provider call and the database after the drain; a container engine kills after 10 s. */
const STOPPED_WITHIN_MS = 9_500;

/**
 * Runs `stop` once, at the first SIGTERM or SIGINT, then exits: 0 after a clean stop, else 1. A stop that takes too long
 * exits too; every response that was sent is stored by then.
 *
 * A second Ctrl-C exits at once. A second SIGTERM changes nothing, since a launcher sends one to a child that the
 * terminal's Ctrl-C has reached already.
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

/** For the answers under way, and less than the pause between two checkpoints. */
const ANSWERED_WITHIN_MS = 100;

/**
 * Ends the process after a failed sync, so that its next start finds out what the disk holds: the kernel may have dropped
 * what it could not write, and says so only once.
 */
export function endAfterFailedSync(logger: Logger): (failure: StorageFailure) => void {
  return (failure) => {
    logger.fatal(
      { err: failure },
      'a commit could not be synced; the process ends and must be started again',
    );
    setTimeout(() => process.exit(1), ANSWERED_WITHIN_MS);
  };
}
