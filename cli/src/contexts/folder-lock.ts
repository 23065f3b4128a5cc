import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../failure.ts';
import { systemCode, systemReason } from '../system-reason.ts';

/** A process that ended without letting go holds nobody up for longer; one that works says so in between. */
const STALE_AFTER_MS = 10_000;
/** Longer than a service is waited for. */
const PATIENCE_MS = 90_000;
const PAUSE_MS = 40;

/**
 * Runs an action that no other process of this user runs meanwhile.
 * @param options.folder that is there
 * @param options.name of what is locked
 * @throws Failure where nothing can be written there, or somebody else goes on for too long
 */
export async function whileLocked<T>(
  { folder, name, signal }: { readonly folder: string; readonly name: string; readonly signal: AbortSignal },
  action: () => Promise<T>,
): Promise<T> {
  const release = await acquire(folder, name, signal);
  try {
    return await action();
  } finally {
    // Somebody took it over while this process stood still; what was written by then is whole all the same.
    await release().catch(() => undefined);
  }
}

async function acquire(folder: string, name: string, signal: AbortSignal): Promise<() => Promise<void>> {
  const { lock } = await import('proper-lockfile');
  const lockfilePath = join(folder, `.${name}.lock`);
  const options = { realpath: false, lockfilePath, stale: STALE_AFTER_MS, onCompromised: () => undefined };
  for (const until = Date.now() + PATIENCE_MS; ;) {
    try {
      return await lock(join(folder, name), options);
    } catch (error) {
      if (systemCode(error) !== 'ELOCKED')
        throw new Failure('failed', `${folder} cannot be written: ${systemReason(error)}`, { cause: error });
      if (Date.now() > until)
        throw new Failure(
          'failed',
          `another svault is still writing (${lockfilePath}); try again when it has ended`,
        );
    }
    await sleep(PAUSE_MS * (0.5 + Math.random()), undefined, { signal });
  }
}
