import { setTimeout as delay } from 'node:timers/promises';
import { NO_REDIS, REDIS_PROGRAM } from '@svault/test-kit/redis-server';
import { afterEach, describe, expect, test } from 'vitest';
import { type Ask, askThroughKills } from './support/ask-through-kills.ts';
import { type Cluster, type Member, startCluster } from './support/cluster.ts';
import { inDatabase } from './support/database-files.ts';
import { clientOf } from './support/management-service.ts';
import { pathFor } from './support/pair-agents.ts';
import { withdrawals } from './support/withdrawals.ts';
import type { LoggedEvent, TestAgent } from './support/service-steps.ts';
import { gist } from './support/refusals.ts';

// Two control planes on one PostgreSQL and one Redis act as one, under load and kills; in process: two-services.postgres.test.ts.

const FLOOR = 400;
/** Less than the floors of all agents together. */
const CEILING = 1_100;
const MINUTE_MS = 60_000;
const RATE = { limit: 25, windowSeconds: 2 };
const CAP = 300;
const LOAD_MS = 100_000;
const KILL_EVERY_MS = 9_000;
const ROUNDS = 60;
const HIGH = '1000000000';

describe.runIf(REDIS_PROGRAM !== undefined)(`two processes (${NO_REDIS})`, () => {
  let cluster: Cluster;
  let one: Member;
  let other: Member;
  afterEach(() => cluster.stop());

  async function start(limits: Readonly<Record<string, string>>): Promise<void> {
    cluster = await startCluster(2, { SV_LIMIT_AGENT_NO_GRANT: HIGH, ...limits });
    [one, other] = cluster.members as [Member, Member];
  }

  /** Kills the second one again and again while both are asked for. */
  async function underFire(agents: readonly Loaded[]): Promise<void> {
    let over = false;
    const load = agents.flatMap((loaded, index) =>
      [one, other].flatMap((member, side) =>
        Array.from({ length: 2 }, async (_, lane) => {
          const nowhere = `unheard-of-${index}-${side}-${lane}`;
          const asks = await askThroughKills(member.url, loaded.agent.apiKey, {
            serviceOf: (turn) => (turn % 3 === 2 ? `${nowhere}-${turn}` : 'granted'),
            isOver: () => over,
          });
          loaded.asks.push(...asks);
        }),
      ),
    );
    const startedAt = performance.now();
    while (performance.now() - startedAt < LOAD_MS) {
      await delay(KILL_EVERY_MS);
      await other.kill();
      await delay(500);
      await other.restart();
    }
    over = true;
    await Promise.all(load);
  }

  interface Loaded {
    readonly agent: TestAgent;
    readonly asks: Ask[];
  }
  /** Surely let through by the limits; what failed, with or without an answer, may not have come so far. */
  const admitted = (asks: readonly Ask[]): readonly Ask[] =>
    asks.filter(
      ({ outcome }) => outcome !== '429 RATE_LIMITED' && outcome !== undefined && outcome in OUTCOMES,
    );
  const given = (asks: readonly Ask[]): readonly Ask[] => asks.filter(({ outcome }) => outcome === '307');

  async function loadedAgent(rule?: object): Promise<Loaded> {
    const agent = await one.agent('granted');
    if (rule !== undefined) {
      const body = { name: 'drill', enabled: true, rules: [rule] };
      const policy = (await one.admin('POST', '/api/policies', { body })).json;
      const target = { targetType: 'agent', targetId: agent.id };
      await one.admin('POST', `/api/policies/${policy.id}/attachments`, { body: target });
    }
    return { agent, asks: [] };
  }

  test('under load and kills: no counter lets through too much, no answered request is missing in the log or there twice', async () => {
    await start({ SV_LIMIT_AGENT_CREDENTIALS: String(FLOOR), SV_LIMIT_USER_AGGREGATE: String(CEILING) });
    const plain = await loadedAgent();
    const rated = await loadedAgent({ type: 'rate_limit', ...RATE });
    const capped = await loadedAgent({ type: 'max_usage', limit: CAP });
    const all = [plain, rated, capped];
    await underFire(all);

    // The load reached what it was to reach, on both.
    const outcomes = all.map(({ asks }) => new Set(asks.map(({ outcome }) => outcome)));
    for (const seen of outcomes) expect([...seen]).toEqual(expect.arrayContaining([undefined, '307']));
    expect([...outcomes[1]!]).toContain('429 POLICY_DENIED');
    expect([...outcomes[2]!]).toContain('403 POLICY_DENIED');
    const refused = all.flatMap(({ asks }) => asks).filter(({ outcome }) => outcome === '429 RATE_LIMITED');
    expect(refused.length).toBeGreaterThan(100);
    for (const { asks } of all) expectAtMost(admitted(asks), FLOOR, MINUTE_MS);
    expectAtMost(
      all.flatMap(({ asks }) => admitted(asks)),
      CEILING,
      MINUTE_MS,
    );
    expectAtMost(given(rated.asks), RATE.limit, RATE.windowSeconds * 1_000);

    const events = await allEvents(one);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    for (const loaded of all) expect(discrepancies(loaded, events)).toEqual([]);
    const logged = events.filter(
      ({ agentId, outcome }) => agentId === capped.agent.id && outcome === 'success',
    );
    expect(logged.length).toBeGreaterThan(0);
    expect(logged.length).toBeLessThanOrEqual(CAP);
    expect(await usedOf(capped.agent)).toBe(logged.length);

    // Nothing is left behind, and nothing was done twice that may be done once.
    expect((await one.admin('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
    const written = (await allEvents(one, '')).map(({ id }) => id).toReversed();
    await expect
      .poll(() => shippedIds(cluster.webhookDatabase).length, { timeout: 60_000 })
      .toBe(written.length);
    expect(shippedIds(cluster.webhookDatabase)).toEqual(written);
  }, 400_000);

  test('what is taken away at one is away at the other for the next request, hundreds of times under load', async () => {
    await start({ SV_LIMIT_AGENT_CREDENTIALS: HIGH, SV_LIMIT_USER_AGGREGATE: HIGH });
    let over = false;
    const bystander = await one.agent('granted');
    const load = [one, other].flatMap(({ url }) =>
      Array.from({ length: 4 }, () =>
        askThroughKills(url, bystander.apiKey, { serviceOf: () => 'granted', isOver: () => over }),
      ),
    );
    const { id, apiKey } = await one.agent('granted');
    const agent = { id, apiKey };
    for (const { what, withdraw, restore, denial } of withdrawals(agent))
      for (let round = 0; round < ROUNDS; round++) {
        const [here, there] = round % 2 === 0 ? [one, other] : [other, one];
        await withdraw(here.admin);
        expect([what, round, await askAt(there, agent)]).toEqual([what, round, denial]);
        await restore(here.admin);
        expect([what, round, await askAt(there, agent)]).toEqual([what, round, '307']);
      }
    over = true;
    expect((await Promise.all(load)).flat().length).toBeGreaterThan(100);
  }, 400_000);

  const askAt = async (member: Member, { apiKey }: { readonly apiKey: string }): Promise<string> =>
    gist(await clientOf(member.url, { authorization: `Bearer ${apiKey}` })('GET', pathFor('granted')));

  const usedOf = async ({ id: agentId }: TestAgent): Promise<number> => {
    const body = { agentId, serviceName: 'granted' };
    const { json } = await one.admin('POST', '/api/policies/simulate', { body });
    return json.rules[0].used as number;
  };
});

/** Never more within a stretch of time than its windows allow: those that touch it, each begun by its first use. */
function expectAtMost(asks: readonly Ask[], limit: number, windowMs: number): void {
  const answered = asks.toSorted((a, b) => a.answeredAt - b.answeredAt);
  for (const [index, first] of answered.entries()) {
    // Within less than a window: at most two of them touch it.
    const within = answered
      .slice(index)
      .filter(({ sentAt, answeredAt }) => sentAt >= first.sentAt && answeredAt < first.sentAt + windowMs);
    expect(within.length).toBeLessThanOrEqual(2 * limit);
  }
  const begunAt = answered.reduce((earliest, { sentAt }) => Math.min(earliest, sentAt), Infinity);
  const span = (answered.at(-1)?.answeredAt ?? 0) - begunAt;
  expect(answered.length).toBeLessThanOrEqual(limit * (Math.floor(span / windowMs) + 1));
}

/** What the log says too little or too much of for one agent; one line each. */
function discrepancies(
  { agent, asks }: { readonly agent: TestAgent; readonly asks: readonly Ask[] },
  events: readonly LoggedEvent[],
): string[] {
  const logged = tally(
    events.filter(({ agentId, count }) => agentId === agent.id && count === undefined),
    ({ serviceName, outcome, detail }) => `${serviceName} ${outcome} ${String(detail?.['code'])}`,
  );
  const told = tally(asks, ({ service, outcome = '' }) => `${service} ${OUTCOMES[outcome]}`);
  const found: string[] = [];
  for (const what of new Set([...told.keys(), ...logged.keys()])) {
    const [service] = what.split(' ', 1);
    if (what === `${service} ${UNKNOWN}` || what.endsWith('RATE_LIMITED')) continue;
    const [answered, written] = [told.get(what) ?? 0, logged.get(what) ?? 0];
    const lost = told.get(`${service} ${UNKNOWN}`) ?? 0;
    if (written < answered || written > answered + lost)
      found.push(`${what}: ${answered} told, ${lost} lost, ${written} in the log`);
  }
  return found;
}

/** How an answer stands in the log: an event each. What the limiter refuses is counted by the minute. */
const OUTCOMES: Readonly<Record<string, string>> = {
  '307': 'success undefined',
  '403 POLICY_DENIED': 'denied POLICY_DENIED',
  '404 NO_GRANT': 'denied NO_GRANT',
  '429 POLICY_DENIED': 'rate_limited POLICY_DENIED',
  '429 RATE_LIMITED': 'rate_limited RATE_LIMITED',
};
/** Any other, and none: it may have been decided or not. */
const UNKNOWN = String(undefined);

function tally<T>(all: readonly T[], keyOf: (one: T) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return counts;
}

/** Every event of the account's log that fits, page by page. */
async function allEvents(
  { admin }: Member,
  filter = '&eventType=AGENT_CREDENTIAL_ACCESS',
): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  let cursor = '';
  do {
    const { json } = await admin('GET', `/api/audit?limit=100${filter}${cursor}`);
    events.push(...(json.items as LoggedEvent[]));
    cursor = json.nextCursor === undefined ? '' : `&cursor=${encodeURIComponent(json.nextCursor)}`;
  } while (cursor !== '');
  return events;
}

/** In the order in which the webhook wrote them. */
const shippedIds = (path: string): string[] =>
  inDatabase(path, (db) =>
    db.prepare<[], string>("SELECT id FROM audit_log WHERE source = 'service' ORDER BY seq").pluck().all(),
  );
