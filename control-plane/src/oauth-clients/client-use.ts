import { type Clock, formatTime, isId } from '@svault/shared';
import type { Stores } from '../unit-of-work.ts';

const DAY_MS = 24 * 3_600_000;
/** A use is noted once a day, so that a refresh an hour costs no write an hour. */
const NOTED_FOR_MS = DAY_MS;
const NEVER_USED_KEPT_MS = 30 * DAY_MS;
const UNUSED_KEPT_MS = 180 * DAY_MS;
/**
 * Anybody may register, up to a limit per address; who has addresses without end must fill no disk by it. The latest are kept,
 * at 16 KiB at most 160 MB of them, and all that a person ever said yes to.
 */
const MOST_NEVER_USED = 10_000;

/** Notes that a client got something: a code, or tokens. @param clientId of a metadata document too, of which nothing is kept */
export async function noteClientUse(
  stores: Pick<Stores, 'oauthClients'>,
  clientId: string,
  clock: Clock,
): Promise<void> {
  if (!isId('ocl', clientId)) return;
  const now = clock.now();
  await stores.oauthClients.touch(clientId, formatTime(now), formatTime(now - NOTED_FOR_MS));
}

/** Forgets clients that are not used any more; one that comes back registers anew. */
export async function forgetUnusedClients(
  stores: Pick<Stores, 'oauthClients'>,
  clock: Clock,
  mostNeverUsed = MOST_NEVER_USED,
): Promise<void> {
  const now = clock.now();
  await stores.oauthClients.removeUnused({
    lastUsedAt: formatTime(now - UNUSED_KEPT_MS),
    neverUsedSince: formatTime(now - NEVER_USED_KEPT_MS),
  });
  await stores.oauthClients.keepLatestNeverUsed(mostNeverUsed);
}
