import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '@svault/shared';
import { type PostgresServer, startPostgres } from '@svault/test-kit/postgres-server';
import { administer, databaseUrl } from '@svault/test-kit/test-database';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { databaseSetting } from '../../src/config/database-setting.ts';
import { asTool } from '../../src/commands/with-database.ts';
import { openDatabase } from '../../src/store/open-database.ts';
import { type Wire, startWire } from '../support/database-wire.ts';
import { type FaultyWebhook, startFaultyWebhook } from '../support/faulty-webhook.ts';
import { type ManagementService, type Place, makePlace, serveOn } from '../support/management-service.ts';
import { type TestAgent, stepsOn } from '../support/service-steps.ts';
import { storedState } from '../support/stored-state.ts';
import { keyOf } from './open-store.ts';

/*
 * R24 with a server of its own, under load: restarts, crashes, silence, locks of 30 seconds, too few connections. The
 * process lives, each request is answered in its time, at most 5 seconds of 503 follow what the database did, and nothing
 * that was answered is lost. The quick part: database-faults.postgres.test.ts.
 */

const BACK_WITHIN_MS = 5_000;
/** What a caller waits at most: for its turn, a connection, and a statement's time twice. */
const ANSWERED_WITHIN_MS = 10_000;
const CALLERS = 32;

let postgres: PostgresServer;
let wire: Wire;
let place: Place;
let service: ManagementService;
let webhook: FaultyWebhook;
let agent: TestAgent;

beforeAll(async () => {
  postgres = await startPostgres({ durable: true });
  wire = await startWire(postgres.url, 'postgres');
  const made = await makePlace({
    SV_EGRESS_ALLOW: '127.0.0.0/8',
    SV_LIMIT_AGENT_CREDENTIALS: '100000000',
    SV_LIMIT_USER_AGGREGATE: '100000000',
  });
  place = { ...made, env: { ...made.env, SV_DATABASE_URL: wire.over(postgres.url) } };
  service = await serveOn(place);
  webhook = await startFaultyWebhook(service.clock);
  await service.admin('POST', '/api/webhook/bind', { body: webhook.offer() });
  agent = await stepsOn(service.running.url, service.admin).agent('github');
}, 120_000);
afterAll(async () => {
  await service.running.close();
  await webhook.shut();
  await wire.close();
  await postgres.remove();
  await place.remove();
});
afterEach(() => wire.restore());

interface Ask {
  readonly status: number;
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** Callers who ask all the time; `stop` gives what they were answered. */
function load(): { readonly asks: readonly Ask[]; stop(): Promise<readonly Ask[]> } {
  const asks: Ask[] = [];
  let over = false;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!over) {
      const sentAt = performance.now();
      const { status, headers } = await agent.get('github');
      if (status === 503) {
        expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
        // As it was told to, but within the timeouts of the test.
        await delay(50);
      }
      asks.push({ status, sentAt, answeredAt: performance.now() });
    }
  });
  const stop = async (): Promise<readonly Ask[]> => {
    over = true;
    await Promise.all(callers);
    return asks;
  };
  return { asks, stop };
}

const successes = async (): Promise<number> =>
  (await storedState(postgres.url).value(
    "SELECT count(*) FROM audit_events WHERE event_type = 'AGENT_CREDENTIAL_ACCESS' AND outcome = 'success'",
  )) as number;

/** @param backAt when the database could do its work again */
async function expectNothingLost(before: number, asks: readonly Ask[], backAt: number): Promise<void> {
  for (const { status, sentAt, answeredAt } of asks) {
    expect(status).toBeOneOf([307, 503]);
    expect(answeredAt - sentAt).toBeLessThan(ANSWERED_WITHIN_MS);
  }
  const given = asks.filter(({ status }) => status === 307).length;
  const refused = asks.length - given;
  expect(given).toBeGreaterThan(100);
  const written = (await successes()) - before;
  expect([written >= given, written <= given + refused]).toEqual([true, true]);
  const late = asks.filter(({ status, sentAt }) => status === 503 && sentAt > backAt + BACK_WITHIN_MS);
  expect(late).toEqual([]);
  expect((await service.admin('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
}

describe('the server', () => {
  test.each([
    ['is restarted', () => postgres.stop()],
    ['crashes', () => postgres.crash()],
  ])('%s under load, three times', async (_what, end) => {
    const before = await successes();
    const { asks, stop } = load();
    let backAt = 0;
    for (let left = 3; left > 0; left--) {
      const answered = asks.length;
      await expect.poll(() => asks.length, { timeout: 30_000 }).toBeGreaterThan(answered + 200);
      await end();
      await delay(1_000);
      await postgres.start();
      backAt = performance.now();
      await delay(BACK_WITHIN_MS);
      expect((await agent.get('github')).status).toBe(307);
    }
    await expectNothingLost(before + 3, await stop(), backAt);
  });

  test('is silent for 15 seconds: each request is answered within its timeout, and nothing is left waiting', async () => {
    const before = await successes();
    const { asks, stop } = load();
    await expect.poll(() => asks.length, { timeout: 30_000 }).toBeGreaterThan(200);
    wire.stall();
    const silentAt = performance.now();
    await delay(15_000);
    const inSilence = asks.filter(({ sentAt }) => sentAt > silentAt);
    expect(inSilence.length).toBeGreaterThan(CALLERS);
    expect(inSilence.every(({ status }) => status === 503)).toBe(true);
    wire.restore();
    const backAt = performance.now();
    await delay(BACK_WITHIN_MS);
    expect((await agent.get('github')).status).toBe(307);
    await expectNothingLost(before + 1, await stop(), backAt);
  });
});

describe('a lock', () => {
  test('of a process that stopped during a change is released to the next after 5 seconds', async () => {
    const vaultId = (await storedState(postgres.url).value('SELECT id FROM vaults')) as never;
    const address = databaseSetting.parse(postgres.url);
    const { masterKey } = controlPlaneConfig(place.env);
    const stopped = await openDatabase(address, [masterKey], asTool(systemClock));
    const over = Promise.withResolvers<void>();
    const ended = stopped.unitOfWork
      .run(vaultId, () => over.promise)
      .catch((error: unknown) => String(error));
    await delay(200);
    const startedAt = performance.now();
    let status = 0;
    while (status !== 307 && performance.now() - startedAt < 20_000) ({ status } = await agent.get('github'));
    expect(performance.now() - startedAt).toBeLessThan(2 * BACK_WITHIN_MS);
    expect(status).toBe(307);
    over.resolve();
    // What it goes on with later is refused.
    expect(await ended).toContain('PostgreSQL: ');
    await stopped.close();
  });
});

describe('too few connections', () => {
  test('for a role with three connections and minimal rights: requests are served, and excess ones rejected', async () => {
    await administer(postgres.url, "CREATE ROLE small LOGIN PASSWORD 'p' CONNECTION LIMIT 3");
    await administer(postgres.url, 'CREATE DATABASE small');
    const own = databaseUrl(postgres.url, 'small');
    await administer(own, 'GRANT CREATE, USAGE ON SCHEMA public TO small');
    const url = own.replace(/\/\/[^@]+@/, '//small:p@');
    const database = await openDatabase(databaseSetting.parse(url), [keyOf(1)], {
      ...asTool(systemClock),
      opener: 'server',
    });
    const find = (): unknown => database.accessStore.find({ kind: 'key', hash: 'nobody' }, 'github', 0);
    expect(await find()).toBeUndefined();
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, find));
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(String(outcome.reason)).toContain('too many connections');
    for (let left = 20; left > 0; left--) expect(await find()).toBeUndefined();
    await database.close();
  });
});
