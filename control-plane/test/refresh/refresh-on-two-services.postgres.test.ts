import { formatTime } from '@svault/shared';
import type { TokenMetadata } from '@svault/shared/schemas';
import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FaultyWebhook, startFaultyWebhook } from '../support/faulty-webhook.ts';
import { type Place, makePlace, serveOn } from '../support/management-service.ts';
import { refreshableRecord } from '../support/refreshable-record.ts';

const MINUTE_MS = 60_000;

let place: Place;
let one: Awaited<ReturnType<typeof serveOn>>;
let other: Awaited<ReturnType<typeof serveOn>>;
let webhook: FaultyWebhook;
const asked: string[] = [];
const [ones, others] = [jobsByHand(), jobsByHand()];

beforeAll(async () => {
  place = await makePlace({ SV_EGRESS_ALLOW: '127.0.0.0/8' });
  one = await serveOn(place, undefined, { startJob: ones.startJob });
  other = await serveOn(place, one.clock, { startJob: others.startJob });
  webhook = await startFaultyWebhook(one.clock);
  webhook.refresh = async (_path, content) => {
    const serviceName = content['serviceName'] as string;
    asked.push(serviceName);
    const { version } = webhook.tokens.get(serviceName) as TokenMetadata;
    const expiryTime = formatTime(one.clock.now() + 600 * MINUTE_MS);
    webhook.tokens.set(serviceName, refreshableRecord(serviceName, { version: version + 1, expiryTime }));
    return { status: 200, answer: { outcome: 'refreshed', expiryTime } };
  };
  await one.admin('POST', '/api/webhook/bind', { body: webhook.offer() });
});
afterAll(async () => {
  await webhook.shut();
  await one.stop();
});

const lists = (): number => webhook.served.filter(({ op }) => op === 'tokens.list').length;

/** A minute passes, and these look at the same moment. */
const minute = async (...looking: readonly (typeof ones)[]): Promise<void> => {
  one.clock.advance(MINUTE_MS);
  await Promise.all(looking.map(({ run }) => run('token refresh')));
};

test('two services on one database refresh each token once, and the other goes on when one stops', async () => {
  const hold = async (name: string): Promise<void> => {
    await one.admin('POST', '/api/tokens', { body: { serviceName: name, tokenType: 'JWT' } });
    const expiryTime = formatTime(one.clock.now() + 30 * MINUTE_MS);
    // A webhook may count as it likes, up to the largest number of JSON.
    const version = Number.MAX_SAFE_INTEGER - 1;
    webhook.tokens.set(name, refreshableRecord(name, { expiryTime, version }));
  };
  const names = Array.from({ length: 12 }, (_, n) => `token-${n}`);
  for (const name of names) await hold(name);
  for (let minutes = 1; minutes <= 3; minutes++) await minute(ones, others);
  expect(lists()).toBe(3);
  expect(asked.toSorted()).toEqual(names.toSorted());
  await other.running.close();
  await hold('another');
  await minute(ones);
  expect(asked.toSorted()).toEqual([...names, 'another'].toSorted());
});
