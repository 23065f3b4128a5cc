import { type Id, formatTime, newId } from '@svault/shared';
import { expect, it } from 'vitest';
import { readActivity } from './activity-summary.ts';
import type { AuditStore } from '../core/audit-store.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const SECOND = 1_000;
const since = formatTime(NOW - 86_400 * SECOND);
const vaultId: Id<'vlt'> = newId('vlt');

/** A log of accesses at the times of `timeOf`, newest first; it counts its scans. */
const logOf = (length: number, timeOf: (age: number) => number) => {
  const times = Array.from({ length }, (_, age) => formatTime(timeOf(age)));
  const log = {
    scans: 0,
    countActivity: (async (_vaultId, { since, before, rows }) => {
      log.scans++;
      const begin = before === undefined ? 0 : length - before + 1;
      const page = times.slice(begin, begin + rows);
      const sorted = page.toSorted();
      const accesses = page.filter((time) => time >= since).length;
      const [oldestAt = '', newestAt = ''] = [sorted[0], sorted.at(-1)];
      return {
        counts: { accesses, denied: 0, rateLimited: 0, errors: 0 },
        rows: page.length < rows ? undefined : { firstSeq: length - begin - rows + 1, oldestAt, newestAt },
      };
    }) satisfies AuditStore['countActivity'],
  };
  return log;
};

it('readActivity counts the events since a time and stops there', async () => {
  const log = logOf(19_000, (age) => NOW - age * 30 * SECOND);
  expect(await readActivity(log, vaultId, since)).toMatchObject({ accesses: 2_881, since });
  expect(log.scans).toBe(3);
});

it('readActivity reports the time from which it counted a log that is too long', async () => {
  const log = logOf(60_000, (age) => NOW - age * SECOND);
  const from = formatTime(NOW - 19_999 * SECOND);
  expect(await readActivity(log, vaultId, since)).toMatchObject({ accesses: 20_000, since: from });
});

it('readActivity counts on beyond an event whose clock was wrong', async () => {
  for (const wrong of [0, NOW + 365 * 86_400 * SECOND]) {
    const log = logOf(6_000, (age) => (age === 100 ? wrong : NOW - age * SECOND));
    const { accesses } = await readActivity(log, vaultId, since);
    expect([wrong, accesses]).toEqual([wrong, wrong === 0 ? 5_999 : 6_000]);
  }
});
