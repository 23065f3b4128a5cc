import { formatTime } from '@svault/shared';
import { type TokenEndpoint, startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { type SchedulerFixture, startSchedulerFixture } from '../support/scheduler-fixture.ts';

const MINUTE_MS = 60_000;

describe('two refresh schedulers', () => {
  let bench: SchedulerFixture;
  beforeAll(async () => {
    bench = await startSchedulerFixture();
  });
  afterAll(() => bench.close());
  beforeEach(() => bench.clear());

  test('refresh no token twice, whichever has the leader lease', async () => {
    const names = Array.from({ length: 15 }, (_, n) => `token-${n}`);
    for (const name of names) await bench.hold(name);
    const schedulers = [bench.startScheduler(), bench.startScheduler(), bench.startScheduler()];
    for (let round = 0; round < 2; round++) {
      bench.backstage.clock.advance(MINUTE_MS);
      await Promise.all(schedulers.map((scheduler) => scheduler.tick()));
    }
    expect(bench.asked.toSorted()).toEqual(names.toSorted());
  });

  test('take over the attempt of a killed process after a minute', async () => {
    const { backstage, inMinutes, pass, vaultId } = bench;
    await bench.hold('soon');
    const begun = { version: 1, failures: 0, nextAt: inMinutes(2) };
    const bounds = { now: inMinutes(0), latest: inMinutes(60) };
    const { refreshAttempts } = backstage.context.stores;
    const begin = (): Promise<boolean> => refreshAttempts.begin(vaultId, 'soon', begun, bounds);
    const begins = await Promise.all([begin(), begin(), begin()]);
    expect(begins.filter((begin) => begin)).toHaveLength(1);
    expect(await pass(1)).toEqual([]);
    expect(await pass(1)).toEqual(['soon']);
  });
});

describe('the refresh scheduler with the reference webhook and a provider that rotates', () => {
  let service: PairedService;
  let endpoint: TokenEndpoint;
  beforeAll(async () => {
    service = await startPairedService();
    endpoint = await startTokenEndpoint();
  });
  afterAll(async () => {
    await endpoint.close();
    await service.stop();
  });

  // spec: The service notifies the webhook of expiring OAuth tokens through POST /v1/refresh-notify.
  // spec: In TV-mediated mode, tokens expiring within 1 hour are refreshed automatically.
  test('refreshes each token once within the hour, in both ways, with an event without a user', async () => {
    const { admin, clock, log, pair } = service;
    const secret = 'a client secret';
    endpoint.register({ id: 'c', method: 'client_secret_basic', secret });
    const client = { tokenUrl: endpoint.url, clientId: 'c' };
    const kept = { name: 'p', ...client, authMethod: 'client_secret_basic', clientSecret: secret };
    await admin('POST', '/api/providers', { body: kept });
    const store = (name: string, provider: object, minutes: number): Promise<void> =>
      storeOn(pair, name, {
        tokenType: 'JWT',
        ...endpoint.grant('c'),
        expiryTime: formatTime(clock.now() + minutes * MINUTE_MS),
        provider: { ...client, ...provider },
      });
    endpoint.expiresIn = 36_000;
    await store('mediated', { mediated: true }, 30);
    await store('noticed', { clientSecret: secret }, 30);
    await store('ended', { mediated: true }, -30);
    await store('later', { mediated: true }, 300);

    const events = () => log('&eventType=TOKEN_REFRESHED');
    clock.advance(MINUTE_MS);
    await vi.waitFor(async () => expect(await events()).toHaveLength(3), { timeout: 20_000 });
    await endpoint.arrived(3);
    for (const event of await events()) {
      expect(event).toMatchObject({ outcome: 'success', detail: { reason: 'expiring' } });
      expect(event).not.toHaveProperty('userId');
    }
    expect((await events()).map(({ serviceName }) => String(serviceName)).toSorted()).toEqual([
      'ended',
      'mediated',
      'noticed',
    ]);
    const version = async (name: string): Promise<number> =>
      (await admin('GET', `/api/tokens/${name}`)).json.webhook.version;
    await vi.waitFor(async () => expect(await version('noticed')).toBe(2), { timeout: 20_000 });
    expect([await version('mediated'), await version('ended'), await version('later')]).toEqual([2, 2, 1]);
    expect(endpoint.calls.map(({ outcome }) => outcome)).toEqual(['refreshed', 'refreshed', 'refreshed']);
  });
});
