import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';

const HOUR = 3_600_000;

let service: LinkedService;
beforeEach(async () => {
  service = await startLinkedService({ SV_AUDIT_RETENTION_DAYS: '10' });
});
afterEach(() => service.stop());

const ask = (query = '') => service.admin('GET', `/api/overview/series${query}`);
const series = async (query = '') => (await ask(query)).json;
const sumOf = (buckets: readonly Record<string, number>[]) =>
  ['accesses', 'denied', 'rateLimited', 'errors'].map((name) =>
    buckets.reduce((sum, bucket) => sum + (bucket[name] ?? 0), 0),
  );

test('GET /api/overview/series counts requests by outcome, in buckets without gaps, as the overview does', async () => {
  await service.bind();
  const [one, two] = [await service.agent('github'), await service.agent('github')];
  await one.get('github');
  await two.get('unknown');
  service.clock.advance(2 * HOUR);
  await one.get('github');
  await service.runJob('activity counts');
  await two.get('github');

  const { buckets, ...rest } = await series();
  expect(rest).toEqual({
    bucket: 'hour',
    from: '2026-11-19T15:00:00.000Z',
    to: '2026-11-20T15:00:00.000Z',
    since: '2026-11-19T15:00:00.000Z',
    complete: true,
  });
  expect(buckets).toHaveLength(24);
  expect(buckets.slice(-3)).toEqual([
    { start: '2026-11-20T12:00:00.000Z', accesses: 1, denied: 1, rateLimited: 0, errors: 0 },
    { start: '2026-11-20T13:00:00.000Z', accesses: 0, denied: 0, rateLimited: 0, errors: 0 },
    { start: '2026-11-20T14:00:00.000Z', accesses: 2, denied: 0, rateLimited: 0, errors: 0 },
  ]);
  const { activity } = (await service.admin('GET', '/api/overview')).json;
  expect(sumOf(buckets)).toEqual([activity.accesses, activity.denied, activity.rateLimited, activity.errors]);
  expect(sumOf((await series(`?agentId=${one.id}`)).buckets)).toEqual([2, 0, 0, 0]);
  expect(sumOf((await series(`?agentId=${two.id}&bucket=day`)).buckets)).toEqual([1, 1, 0, 0]);
  const minutes = await series('?bucket=minute');
  expect([minutes.buckets.length, ...sumOf(minutes.buckets)]).toEqual([60, 2, 0, 0, 0]);
});

test('GET /api/overview/series says since when its counts are whole, and how many buckets it takes', async () => {
  expect(await series('?bucket=day')).toMatchObject({
    from: '2026-10-22T00:00:00.000Z',
    since: '2026-11-10T12:00:00.000Z',
  });
  const longest = {
    minute: '2026-11-20T09:01:00Z',
    hour: '2026-11-13T13:00:00Z',
    day: '2026-08-23T00:00:00Z',
  };
  for (const [bucket, from] of Object.entries(longest)) {
    expect((await ask(`?bucket=${bucket}&from=${from}`)).status).toBe(200);
    const before = new Date(Date.parse(from) - 1).toISOString();
    const { status, json } = await ask(`?bucket=${bucket}&from=${before}`);
    expect([status, json.code]).toEqual([422, 'INVALID_ARGUMENT']);
    expect(JSON.stringify(json)).toContain('a series has at most 180 minutes, 168 hours or 90 days');
  }
  for (const query of [
    '?from=2026-11-20T13:00:00Z',
    '?from=2026-11-20T12:00:00Z&to=2026-11-20T12:00:00Z',
    '?from=2026-11-20T12:10:00Z&to=2026-11-20T12:05:00Z',
    '?from=0000-01-01T00:00:00Z&to=9999-12-31T23:59:59Z',
    '?bucket=week',
    '?from=yesterday',
    '?agentId=agt_1',
    '?agent=ci',
  ])
    expect([query, (await ask(query)).status]).toEqual([query, 422]);
  for (const query of [
    '?to=0000-01-01T00:00:00Z',
    '?to=9999-12-31T23:59:59Z',
    '?bucket=day&to=9999-12-31T23:59:59Z',
  ])
    expect([query, sumOf((await series(query)).buckets)]).toEqual([query, [0, 0, 0, 0]]);
});
