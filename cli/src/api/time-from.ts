import { usage } from '../failure.ts';

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A time as a person types it: ISO 8601, or how long ago: `90m`, `24h`, `7d`.
 * @param flag that it was typed behind
 * @returns ISO 8601, in UTC
 * @throws Failure usage
 */
export function timeFrom(text: string, nowMs: number, flag: string): string {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count !== undefined) return new Date(nowMs - Number(count) * (UNIT_MS[unit] ?? 0)).toISOString();
  const atMs = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(atMs))
    throw usage(`${flag} takes a time as 2026-11-20T12:00:00Z, or how long ago as 90m, 24h or 7d`);
  return new Date(atMs).toISOString();
}
