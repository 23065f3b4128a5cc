/** `lastUsedAt` is written at most once a minute, so that it costs the hot path nothing. */
const LAST_USED_RESOLUTION_MS = 60_000;

/** Whether `lastUsedAt` is to be written again. @param lastUsedAt null where it never was */
export const isStale = (lastUsedAt: string | null, nowMs: number): boolean =>
  lastUsedAt === null || nowMs - Date.parse(lastUsedAt) >= LAST_USED_RESOLUTION_MS;
