import { NO_REDIS } from '@svault/test-kit/redis-server';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { type FaultyWebhook, startFaultyWebhook } from './support/faulty-webhook.ts';
import {
  type Answer,
  type Call,
  type Place,
  clientOf,
  makePlace,
  serveOn,
} from './support/management-service.ts';
import { makeOwnerLink } from './support/beside-the-service.ts';
import { type LoggedEvent, type TestAgent, stepsOn } from './support/service-steps.ts';
import { gist } from './support/refusals.ts';
import { withdrawals } from './support/withdrawals.ts';

/*
 * Two services over one PostgreSQL and one Redis behave as one. Here they are in one process; as processes of their own,
 * killed under load: two-processes.postgres.hard.test.ts.
 */

const FLOOR = 60;
const CEILING = 150;
const MINUTE_MS = 60_000;

type Service = Awaited<ReturnType<typeof serveOn>>;

describe.runIf(inject('redis') !== undefined)(`two services (${NO_REDIS})`, () => {
  let place: Place;
  let one: Service;
  let other: Service;
  let webhook: FaultyWebhook;
  beforeAll(async () => {
    place = await makePlace({
      SV_EGRESS_ALLOW: '127.0.0.0/8',
      SV_LIMIT_USER_AGGREGATE: String(CEILING),
      SV_LIMIT_AGENT_NO_GRANT: '1000',
    });
    one = await serveOn(place);
    other = await serveOn(place, one.clock);
    webhook = await startFaultyWebhook(one.clock);
    await one.admin('POST', '/api/webhook/bind', { body: webhook.offer() });
  });
  afterAll(async () => {
    await webhook.shut();
    await other.running.close();
    await one.stop();
  });
  beforeEach(() => one.clock.advance(MINUTE_MS));

  const agentOf = (...serviceNames: string[]): Promise<TestAgent> =>
    stepsOn(one.running.url, one.admin).agent(...serviceNames);
  const ask = ({ running }: Service, apiKey: string, serviceName: string): Promise<Answer> =>
    clientOf(running.url)('GET', `/api/agents/credentials?service=${serviceName}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
  /** All at once, every second one at the other service. */
  const askBoth = (count: number, agents: readonly TestAgent[], serviceName = 'granted'): Promise<Answer[]> =>
    Promise.all(
      Array.from({ length: count }, (_, n) =>
        ask(n % 2 === 0 ? one : other, agents[(n >> 1) % agents.length]!.apiKey, serviceName),
      ),
    );
  const tally = (answers: readonly Answer[]): Record<string, number> =>
    Object.fromEntries(
      Object.entries(Object.groupBy(answers, gist)).map(([what, some]) => [what, some?.length ?? 0]),
    );

  async function limited(agent: TestAgent, rule: object): Promise<void> {
    const { json } = await one.admin('POST', '/api/policies', { body: { name: 'limited', rules: [rule] } });
    const body = { targetType: 'agent', targetId: agent.id };
    await other.admin('POST', `/api/policies/${json.id}/attachments`, { body });
  }

  test('a floor and its lockout are one', async () => {
    const agent = await agentOf('granted');
    expect(tally(await askBoth(100, [agent]))).toEqual({ '307': FLOOR, '429 RATE_LIMITED': 40 });
    for (const { admin } of [one, other])
      expect((await admin('GET', '/api/limits/lockouts')).json.items).toMatchObject([
        { callerId: agent.id, strikes: 1 },
      ]);
  });

  test("the account's ceiling is one", async () => {
    const agents = [await agentOf('granted'), await agentOf('granted'), await agentOf('granted')];
    expect(tally(await askBoth(3 * FLOOR, agents))).toEqual({ '307': CEILING, '429 RATE_LIMITED': 30 });
  });

  test("a policy's rate is one, and its lifetime cap is exact", async () => {
    const [rated, capped] = [await agentOf('granted'), await agentOf('granted')];
    await limited(rated, { type: 'rate_limit', limit: 17, windowSeconds: 50 });
    await limited(capped, { type: 'max_usage', limit: 23 });
    expect(tally(await askBoth(FLOOR, [rated]))).toEqual({ '307': 17, '429 POLICY_DENIED': FLOOR - 17 });
    expect(tally(await askBoth(FLOOR, [capped]))).toEqual({ '307': 23, '403 POLICY_DENIED': FLOOR - 23 });
    one.clock.advance(MINUTE_MS);
    expect(tally(await askBoth(FLOOR, [rated]))).toEqual({ '307': 17, '429 POLICY_DENIED': FLOOR - 17 });
    expect(tally(await askBoth(10, [capped]))).toEqual({ '403 POLICY_DENIED': 10 });
  });

  // spec: 403 | INVALID_KEY | Key malformed or revoked.
  test('what is withdrawn at one service is denied by the other at the next request', async () => {
    const { id, apiKey } = await agentOf('granted');
    const agent = { id, apiKey };
    for (const { what, denial, withdraw, restore } of withdrawals(agent))
      for (const [here, there] of [
        [one, other],
        [other, one],
      ] as const) {
        await withdraw(here.admin);
        expect([what, gist(await ask(there, agent.apiKey, 'granted'))]).toEqual([what, denial]);
        await restore(here.admin);
        expect([what, gist(await ask(there, agent.apiKey, 'granted'))]).toEqual([what, '307']);
      }
  });

  test('what lets a person in is over at the other for the next request: an admin key, a session', async () => {
    const { key, adminKey } = (await one.admin('POST', '/api/admin-keys', { body: { name: 'k' } })).json;
    const byKey = clientOf(other.running.url, { authorization: `Bearer ${key}` });
    const token = new URL(await makeOwnerLink(one)).searchParams.get('token');
    const signedIn = await one.anyone('POST', '/api/login/link', { body: { token } });
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const bySession = clientOf(other.running.url, { cookie });
    const status = async (call: Call): Promise<number> => (await call('GET', '/api/me')).status;
    expect([await status(byKey), await status(bySession)]).toEqual([200, 200]);
    await one.admin('DELETE', `/api/admin-keys/${adminKey.id}`);
    const [session] = (await other.admin('GET', '/api/sessions')).json.items;
    await one.admin('DELETE', `/api/sessions/${session.id}`);
    expect([await status(byKey), await status(bySession)]).toEqual([401, 401]);
  });

  test('their log is one: each request once, a whole chain, and all of it in order at the webhook', async () => {
    const agents = [await agentOf('granted'), await agentOf('granted')];
    await askBoth(40, agents);
    await other.running.close();
    await Promise.all(agents.map(({ apiKey }) => ask(one, apiKey, 'granted')));
    other = await serveOn(place, one.clock);
    await askBoth(40, agents, 'unheard-of');

    const events = await wholeLog(other.admin);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    for (const { id } of agents) {
      const own = events.filter(({ agentId, eventType }) => agentId === id && eventType.endsWith('_ACCESS'));
      const rows = Object.groupBy(own, ({ serviceName, outcome }) => `${serviceName} ${outcome}`);
      expect([rows['granted success']?.length, rows['unheard-of denied']?.length]).toEqual([21, 20]);
    }
    // Counted denials of before may still be written in between.
    await vi.waitFor(
      async () => {
        const { length } = await wholeLog(one.admin);
        for (const { admin } of [one, other])
          expect((await admin('GET', '/api/audit/verify')).json).toMatchObject({
            intact: true,
            events: length,
          });
      },
      { timeout: 60_000, interval: 50 },
    );
    // With time, counted denials follow. A batch whose answer took longer than the lease comes again, and is taken once.
    await vi.waitFor(
      async () => {
        one.clock.advance(1_000);
        const log = await wholeLog(one.admin);
        expect([...new Set(webhook.received)]).toEqual(log.map(({ id }) => id));
      },
      { timeout: 60_000, interval: 50 },
    );
  });

  /** From the first event on. */
  async function wholeLog(admin: Call): Promise<readonly LoggedEvent[]> {
    const events: LoggedEvent[] = [];
    let cursor = '';
    do {
      const { json } = await admin('GET', `/api/audit?limit=100${cursor}`);
      events.push(...(json.items as LoggedEvent[]));
      cursor = json.nextCursor === undefined ? '' : `&cursor=${encodeURIComponent(json.nextCursor)}`;
    } while (cursor !== '');
    return events.toReversed();
  }
});
