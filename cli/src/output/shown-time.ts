const MINUTE_MS = 60_000;
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
] as const;
/** Beyond it a date says more than a number of days. */
const MAX_MS = 60 * 86_400_000;

/**
 * A time as people read it in a table: `now`, `5 min ago`, `in 29 d`; a date for one that is far away.
 * @param time ISO 8601; a text that is none comes back as it is
 */
export function distance(time: string, nowMs: number): string {
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) return time;
  const apartMs = Math.abs(atMs - nowMs);
  if (apartMs > MAX_MS) return new Date(atMs).toISOString().slice(0, 10);
  if (apartMs < MINUTE_MS) return 'now';
  // One day and 23 hours are no day: a larger unit begins with two of it.
  const [name, ms] = UNITS.find(([, unitMs]) => apartMs >= 2 * unitMs) ?? ['min', MINUTE_MS];
  const count = `${Math.floor(apartMs / ms)} ${name}`;
  return atMs > nowMs ? `in ${count}` : `${count} ago`;
}

/** A time by itself: as the service said it, and how far away that is. */
export function timeAndDistance(time: string, nowMs: number): string {
  const far = distance(time, nowMs);
  return time.startsWith(far) ? time : `${time} (${far})`;
}
