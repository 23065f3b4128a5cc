import { type Clock, formatTime, isId } from '@svault/shared';
import type { Stores } from '../core/stores.ts';

const DAY_MS = 24 * 3_600_000;
/** A use is noted once a day, so that a refresh an hour costs no write an hour. */
const NOTED_FOR_MS = DAY_MS;
const NEVER_USED_KEPT_MS = 30 * DAY_MS;
const UNUSED_KEPT_MS = 180 * DAY_MS;
/** Anybody may register, from addresses without end: of clients that nobody used, so much is kept (`store/waiting-rows.ts`). */
const MAX_NEVER_USED_BYTES = 8 * 1024 * 1024;
/** A person who is asked about a client takes no longer to answer; until then it stays. */
const ASKED_MS = 3_600_000;

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

/** Notes that a person is being asked about a client. @param clientId of a metadata document too, of which nothing is kept */
export async function noteClientAsked(
  stores: Pick<Stores, 'oauthClients'>,
  clientId: string,
  clock: Clock,
): Promise<void> {
  if (isId('ocl', clientId)) await stores.oauthClients.noteAsked(clientId, formatTime(clock.now()));
}

/** Makes room among clients that nobody used, after each registration. */
export async function evictNeverUsed(
  stores: Pick<Stores, 'oauthClients'>,
  clock: Clock,
  maxBytes = MAX_NEVER_USED_BYTES,
): Promise<void> {
  const askedSince = formatTime(clock.now() - ASKED_MS);
  await stores.oauthClients.evictNeverUsed({ maxBytes, askedSince });
}

/** Forgets clients that are not used any more; one that comes back registers anew. */
export async function forgetUnusedClients(stores: Pick<Stores, 'oauthClients'>, clock: Clock): Promise<void> {
  const now = clock.now();
  await stores.oauthClients.removeUnused({
    lastUsedAt: formatTime(now - UNUSED_KEPT_MS),
    neverUsedSince: formatTime(now - NEVER_USED_KEPT_MS),
  });
}
