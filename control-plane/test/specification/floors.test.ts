import { expect } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import type { PairAgent } from '../support/pair-agents.ts';
import { expectRefusal, gist } from './answers.ts';
import { type Fixture, times, useFloor, test } from './fixture.ts';
import { spec } from '@svault/test-kit/spec';
import { expectWindowAt, perHour, perMinute } from './windows.ts';

const FLOOR = 60;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** So late in a window that a lockout is as long as its strikes make it. */
const LATE_MS = MINUTE_MS - 500;

/** One violation at the end of a window. @returns the seconds that the agent is locked out for */
async function violate(fixture: Fixture, agent: PairAgent): Promise<number> {
  await useFloor(fixture, agent);
  fixture.wait(LATE_MS);
  const answer = await agent.list();
  expectRefusal(answer, '429 RATE_LIMITED');
  return answer.json.retryAfter as number;
}

/** Fills the account's ceiling and leaves it at its low end: 600 counted, no agent left. */
async function fillAggregate(fixture: Fixture): Promise<void> {
  const crowd = await fixture.agents(10);
  await useFloor(fixture, ...crowd);
  await fixture.deleteAgents(crowd);
}

const lockouts = async (fixture: Fixture): Promise<unknown[]> =>
  (await fixture.admin('GET', '/api/limits/lockouts')).json.items as unknown[];

test(
  'a caller that waits as long as a 429 says is served',
  spec(
    'All rate-limit responses carry a retry hint: a Retry-After header plus retryAfter in the body on REST,',
    'Clients wait the indicated number of seconds.',
  ),
  async ({ fixture }) => {
    const [floor, misses, rule, aggregate] = await fixture.agents(4, 'github', 'second');
    await fixture.policy(
      { type: 'rate_limit', limit: 1, windowSeconds: 40 },
      { targetType: 'agent', targetId: rule!.id },
    );
    await useFloor(fixture, floor!);
    await times(10, () => misses!.ask('nothing'));
    await rule!.ask('github');
    const refused = [
      [floor!, 'github', '429 RATE_LIMITED'],
      [misses!, 'nothing', '429 RATE_LIMITED'],
      [rule!, 'github', '429 POLICY_DENIED'],
    ] as const;
    const hints: number[] = [];
    for (const [who, service, refusal] of refused) {
      const answer = await who.ask(service);
      expectRefusal(answer, refusal);
      hints.push(answer.json.retryAfter as number);
    }
    fixture.wait(Math.max(...hints) * 1_000);
    for (const [who, service] of refused) expect((await who.ask(service)).status).not.toBe(429);
    await fixture.deleteAgents([floor!, misses!, rule!]);
    await fillAggregate(fixture);
    const full = await aggregate!.ask('github');
    expectRefusal(full, '429 RATE_LIMITED');
    fixture.wait(full.json.retryAfter * 1_000);
    expect((await aggregate!.ask('github')).status).toBe(307);
  },
);

test(
  'a credential may be refreshed 10 times an hour, whatever happens to others',
  spec('token_refresh | 10 per hour per token/service | Scheduled and on-demand refresh.'),
  async ({ fixture }) => {
    const refresh = (name: string) => () => fixture.admin('POST', `/api/tokens/${name}/refresh`);
    const names = ['refreshed-often', 'refreshed-once'] as const;
    for (const serviceName of names)
      await fixture.admin('POST', '/api/tokens', { body: { serviceName, tokenType: 'JWT' } });
    const passes = ({ status }: Answer): void => expect(status).toBe(200);
    await expectWindowAt(fixture.pair.clock, perHour(10), { call: refresh(names[0]), passes });
    await times(perHour(10).limit - 1, refresh(names[0]));
    expectRefusal(await refresh(names[0])(), '429 RATE_LIMITED');
    passes(await refresh(names[1])());
  },
);

test(
  'an agent may make 60 credential requests a minute, whatever others do',
  spec('agent_credentials | 60 per minute per agent | GET /api/agents/credentials'),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    await expectWindowAt(fixture.pair.clock, perMinute(60), {
      call: () => agent.ask('github'),
      passes: ({ status }) => expect(status).toBe(307),
    });
    const [listing, other] = await fixture.agents(2, 'github');
    await fixture.spend([listing!], FLOOR - 1);
    expect((await listing!.ask('github')).status).toBe(307);
    expectRefusal(await listing!.list(), '429 RATE_LIMITED');
    expect((await other!.ask('github')).status).toBe(307);
  },
);

test(
  'an agent may ask 10 times a minute for what it has no grant for, and an expired grant past that is kept',
  spec('agent_no_grant | 10 per minute per agent | NO_GRANT and GRANT_EXPIRED misses.'),
  async ({ fixture }) => {
    const agent = await fixture.agent();
    await expectWindowAt(fixture.pair.clock, perMinute(10), {
      call: () => agent.ask('nothing'),
      passes: (answer) => expectRefusal(answer, '404 NO_GRANT'),
    });
    const lapsing = await fixture.agent();
    for (let n = 0; n < 6; n++)
      await fixture.grant(lapsing, { serviceName: `s${n}`, expiresInSeconds: 3_600 });
    fixture.wait(HOUR_MS);
    const asked = ['s0', 's1', 's2', 's3', 's4', 'x', 'x', 'x', 'x', 'x'];
    for (const name of asked)
      expectRefusal(await lapsing.ask(name), name === 'x' ? '404 NO_GRANT' : '403 GRANT_EXPIRED');
    for (const name of ['s5', 'x', 'y']) expectRefusal(await lapsing.ask(name), '429 RATE_LIMITED');
    fixture.wait(MINUTE_MS);
    // Past the limit nothing was deleted, and nothing told.
    expectRefusal(await lapsing.ask('s5'), '403 GRANT_EXPIRED');
  },
);

test(
  'asking too often for missing grants is no strike, and leaves other services available',
  spec(
    "Never a penalty-box strike. Past the limit the answer is 429 RATE_LIMITED, and other services' fetches are unaffected.",
  ),
  async ({ fixture }) => {
    const [agent, other] = await fixture.agents(2, 'github');
    await times(10, () => agent!.ask('nothing'));
    for (const answer of await times(30, () => agent!.ask('nothing')))
      expectRefusal(answer, '429 RATE_LIMITED');
    expect((await agent!.fetch('github')).json.code).toBe('NOT_FOUND'); // the webhook's own answer
    expect((await agent!.ask('github')).status).toBe(307);
    expect((await agent!.list()).status).toBe(200);
    expectRefusal(await other!.ask('nothing'), '404 NO_GRANT');
    expect(await lockouts(fixture)).toEqual([]);
    // 43 of 60: misses count against the floor as any request does.
    await times(17, () => agent!.list());
    expectRefusal(await agent!.list(), '429 RATE_LIMITED');
    expect(await lockouts(fixture)).toHaveLength(1);
  },
);

test(
  'the key of an agent may be revealed 20 times an hour',
  spec('key_reveal | 20 per hour per agent', '| Revealing a key.'),
  async ({ fixture }) => {
    const [agent, other] = await fixture.agents(2);
    const reveal = (of: PairAgent) => fixture.admin('POST', `/api/agents/${of.id}/reveal-key`);
    await expectWindowAt(fixture.pair.clock, perHour(20), {
      call: () => reveal(agent!),
      passes: ({ json }) => expect(json).toEqual({ apiKey: agent!.apiKey }),
    });
    await times(perHour(20).limit, () => reveal(agent!));
    expect(gist(await reveal(agent!))).toBe('429 RATE_LIMITED');
    expect((await reveal(other!)).json).toEqual({ apiKey: other!.apiKey });
  },
);

test(
  'the key of a proxy may be revealed 20 times an hour',
  spec('key_reveal | 20 per hour per', 'or proxy | Revealing a key.'),
  async ({ fixture }) => {
    const [proxy, other] = [await fixture.proxy(), await fixture.proxy()];
    const reveal = ({ id }: { readonly id: string }) =>
      fixture.admin('POST', `/api/proxies/${id}/reveal-key`);
    await expectWindowAt(fixture.pair.clock, perHour(20), {
      call: () => reveal(proxy),
      passes: ({ json }) => expect(json).toEqual({ key: proxy.key }),
    });
    await times(perHour(20).limit, () => reveal(proxy));
    expect(gist(await reveal(proxy))).toBe('429 RATE_LIMITED');
    expect((await reveal(other)).json).toEqual({ key: other.key });
  },
);

test(
  'the penalty box is evaluated before the vault lock and the service name',
  spec('Penalty box. A locked-out agent gets 429 RATE_LIMITED at once for every service, on both REST'),
  async ({ fixture }) => {
    const [agent, other] = await fixture.agents(2, 'github');
    await useFloor(fixture, agent!);
    expectRefusal(await agent!.ask('github'), '429 RATE_LIMITED');
    await fixture.admin('POST', '/api/vault/lock');
    for (const name of ['github', 'nothing', 'a/b', ''])
      expectRefusal(await agent!.ask(name), '429 RATE_LIMITED');
    expectRefusal(await other!.ask('github'), '423 VAULT_LOCKED');
    await fixture.admin('POST', '/api/vault/unlock');
    expectRefusal(await agent!.list(), '429 RATE_LIMITED');
    expect((await other!.ask('github')).status).toBe(307);
  },
);

test(
  'exceeding the floor locks the agent out until the window ends, and counts as one strike',
  spec(
    "Floor limit. Exceeding it strikes the penalty box. The resulting lockout is at least the floor window's own Retry-After (up to 60 seconds).",
  ),
  async ({ fixture }) => {
    const [atOnce, later] = await fixture.agents(2);
    await useFloor(fixture, atOnce!);
    expect((await atOnce!.list()).json.retryAfter).toBe(60);
    await useFloor(fixture, later!);
    fixture.wait(45_500);
    expect((await later!.list()).json.retryAfter).toBe(15);
    // No second strike while it is locked out, and no longer lockout.
    fixture.wait(14_499);
    expect((await later!.list()).json.retryAfter).toBe(1);
    fixture.wait(1);
    expect((await later!.list()).status).toBe(200);
    fixture.wait(MINUTE_MS);
    expect(await violate(fixture, later!)).toBe(2);
  },
);

test(
  'the ceiling of the account is evaluated after the floor and before the grant',
  spec('Account aggregate.'),
  async ({ fixture }) => {
    const [over, under] = await fixture.agents(2, 'github');
    await useFloor(fixture, over!);
    await fillAggregate(fixture);
    // Over its floor: struck, though the ceiling is reached too. Under it: refused before anything is said of grants.
    expectRefusal(await over!.list(), '429 RATE_LIMITED');
    for (const name of ['github', 'nothing', 'a/b'])
      expectRefusal(await under!.ask(name), '429 RATE_LIMITED');
    expect(await lockouts(fixture)).toMatchObject([{ callerId: over!.id, strikes: 1 }]);
    // What the floor refused was not counted behind it, what the ceiling refused was no miss.
    fixture.wait(MINUTE_MS);
    expectRefusal(await under!.ask('nothing'), '404 NO_GRANT');
    expect((await under!.ask('github')).status).toBe(307);
  },
);

test(
  'the grant is evaluated before the policies, and both after the floor',
  spec('Then grant and policy checks.'),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    await fixture.policy({ type: 'manual_approval' }, { targetType: 'agent', targetId: agent.id });
    expectRefusal(await agent.ask('nothing'), '404 NO_GRANT');
    for (const answer of await times(FLOOR - 1, () => agent.ask('github')))
      expectRefusal(answer, '403 POLICY_DENIED');
    expectRefusal(await agent.ask('github'), '429 RATE_LIMITED');
  },
);
