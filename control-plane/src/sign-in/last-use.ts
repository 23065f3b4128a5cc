import { type Clock, formatTime, parseTime } from '@svault/shared';

/** The last use is written at most this often. */
const RESOLUTION_MS = 60_000;

/**
 * Notes that a key or session was used now. That it cannot be noted, on a full disk, must not keep an owner from
 * looking at what is wrong, so a failure is let go: the next use tries again.
 *
 * @param lastUsedAt what is noted so far
 */
export async function noteUse(
  lastUsedAt: string | undefined,
  clock: Clock,
  write: (usedAt: string) => Promise<void>,
): Promise<void> {
  const now = clock.now();
  const before = lastUsedAt === undefined ? undefined : parseTime(lastUsedAt);
  if (before !== undefined && now - before < RESOLUTION_MS) return;
  await write(formatTime(now)).catch(() => undefined);
}
