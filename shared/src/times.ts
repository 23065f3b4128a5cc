const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/**
 * Protocol section 2: how times are written, `YYYY-MM-DDTHH:MM:SS.sssZ`.
 * @param ms milliseconds since 1970
 */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * Protocol section 2: how times are read, with zero to nine digits after the second, UTC only. Digits beyond the
 * millisecond are dropped.
 * @returns milliseconds since 1970; undefined for anything else, days that no calendar has included
 */
export function parseTime(text: string): number | undefined {
  const [, seconds, fraction = ''] = TIME.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  const written = `${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const ms = Date.parse(written);
  // Date.parse rolls 30 February over into March; what comes back must be what was written.
  return Number.isNaN(ms) || formatTime(ms) !== written ? undefined : ms;
}
