import { expect } from 'vitest';
import type { Answer } from '../management-service.ts';
import type { PairAgent } from '../pair-agents.ts';
import { expectRefusal, gist } from './answers.ts';
import type { LIMIT_ROWS } from './limit-rows.ts';
import { rateOf, type Row } from './row.ts';
import { type Play, type Stage, times } from './stage.ts';
import { expectWindowAt } from './windows.ts';

const FLOOR = 60;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** So late in a window that a lockout is as long as its strikes make it. */
const LATE_MS = MINUTE_MS - 500;

/** Uses up the floor of a minute of some agents. */
export const useFloor = (stage: Stage, ...agents: PairAgent[]): Promise<void> => stage.spend(agents, FLOOR);

/** One violation at the end of a window. @returns the seconds that the agent is locked out for */
async function violate(stage: Stage, agent: PairAgent): Promise<number> {
  await useFloor(stage, agent);
  stage.wait(LATE_MS);
  const answer = await agent.list();
  expectRefusal(answer, '429 RATE_LIMITED');
  return answer.json.retryAfter as number;
}

/** Fills the account's ceiling and leaves it at its low end: 600 counted, no agent left. */
async function fillAggregate(stage: Stage): Promise<void> {
  const crowd = await stage.agents(10);
  await useFloor(stage, ...crowd);
  await stage.deleteAgents(crowd);
}

const lockouts = async (stage: Stage): Promise<unknown[]> =>
  (await stage.admin('GET', '/api/limits/lockouts')).json.items as unknown[];

export const FLOOR_PLAYS = {
  'retry hint': async (stage) => {
    const [floor, misses, rule, aggregate] = await stage.agents(4, 'github', 'second');
    await stage.policy(
      { type: 'rate_limit', limit: 1, windowSeconds: 40 },
      { targetType: 'agent', targetId: rule!.id },
    );
    await useFloor(stage, floor!);
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
    stage.wait(Math.max(...hints) * 1_000);
    for (const [who, service] of refused) expect((await who.ask(service)).status).not.toBe(429);
    await stage.deleteAgents([floor!, misses!, rule!]);
    await fillAggregate(stage);
    const full = await aggregate!.ask('github');
    expectRefusal(full, '429 RATE_LIMITED');
    stage.wait(full.json.retryAfter * 1_000);
    expect((await aggregate!.ask('github')).status).toBe(307);
  },

  // With what the service does by itself counted as well: refresh-scheduler.sqlite.test.ts.
  token_refresh: async (stage, row) => {
    const refresh = (name: string) => () => stage.admin('POST', `/api/tokens/${name}/refresh`);
    const names = ['refreshed-often', 'refreshed-once'] as const;
    for (const serviceName of names)
      await stage.admin('POST', '/api/tokens', { body: { serviceName, tokenType: 'JWT' } });
    const passes = ({ status }: Answer): void => expect(status).toBe(200);
    await expectWindowAt(stage.pair.clock, rateOf(row), { call: refresh(names[0]), passes });
    await times(rateOf(row).limit - 1, refresh(names[0]));
    expectRefusal(await refresh(names[0])(), '429 RATE_LIMITED');
    passes(await refresh(names[1])());
  },

  agent_credentials: async (stage, row) => {
    const agent = await stage.agent('github');
    await expectWindowAt(stage.pair.clock, rateOf(row), {
      call: () => agent.ask('github'),
      passes: ({ status }) => expect(status).toBe(307),
    });
    const [listing, other] = await stage.agents(2, 'github');
    await stage.spend([listing!], FLOOR - 1);
    expect((await listing!.ask('github')).status).toBe(307);
    expectRefusal(await listing!.list(), '429 RATE_LIMITED');
    expect((await other!.ask('github')).status).toBe(307);
  },

  agent_no_grant: async (stage, row) => {
    const agent = await stage.agent();
    await expectWindowAt(stage.pair.clock, rateOf(row), {
      call: () => agent.ask('nothing'),
      passes: (answer) => expectRefusal(answer, '404 NO_GRANT'),
    });
    const lapsing = await stage.agent();
    for (let n = 0; n < 6; n++) await stage.grant(lapsing, { serviceName: `s${n}`, expiresInSeconds: 3_600 });
    stage.wait(HOUR_MS);
    const asked = ['s0', 's1', 's2', 's3', 's4', 'x', 'x', 'x', 'x', 'x'];
    for (const name of asked)
      expectRefusal(await lapsing.ask(name), name === 'x' ? '404 NO_GRANT' : '403 GRANT_EXPIRED');
    for (const name of ['s5', 'x', 'y']) expectRefusal(await lapsing.ask(name), '429 RATE_LIMITED');
    stage.wait(MINUTE_MS);
    // Past the limit nothing was deleted, and nothing told.
    expectRefusal(await lapsing.ask('s5'), '403 GRANT_EXPIRED');
  },

  'agent_no_grant, no strike': async (stage) => {
    const [agent, other] = await stage.agents(2, 'github');
    await times(10, () => agent!.ask('nothing'));
    for (const answer of await times(30, () => agent!.ask('nothing')))
      expectRefusal(answer, '429 RATE_LIMITED');
    expect((await agent!.fetch('github')).json.code).toBe('NOT_FOUND'); // the webhook's own answer
    expect((await agent!.ask('github')).status).toBe(307);
    expect((await agent!.list()).status).toBe(200);
    expectRefusal(await other!.ask('nothing'), '404 NO_GRANT');
    expect(await lockouts(stage)).toEqual([]);
    // 43 of 60: misses count against the floor as any request does.
    await times(17, () => agent!.list());
    expectRefusal(await agent!.list(), '429 RATE_LIMITED');
    expect(await lockouts(stage)).toHaveLength(1);
  },

  key_reveal: async (stage, row) => {
    const [agent, other] = await stage.agents(2);
    const reveal = (of: PairAgent) => stage.admin('POST', `/api/agents/${of.id}/reveal-key`);
    await expectWindowAt(stage.pair.clock, rateOf(row), {
      call: () => reveal(agent!),
      passes: ({ json }) => expect(json).toEqual({ apiKey: agent!.apiKey }),
    });
    await times(rateOf(row).limit, () => reveal(agent!));
    expect(gist(await reveal(agent!))).toBe('429 RATE_LIMITED');
    expect((await reveal(other!)).json).toEqual({ apiKey: other!.apiKey });
  },

  'key_reveal, proxy': async (stage, row) => {
    const [proxy, other] = [await stage.proxy(), await stage.proxy()];
    const reveal = ({ id }: { readonly id: string }) => stage.admin('POST', `/api/proxies/${id}/reveal-key`);
    await expectWindowAt(stage.pair.clock, rateOf(row), {
      call: () => reveal(proxy),
      passes: ({ json }) => expect(json).toEqual({ key: proxy.key }),
    });
    await times(rateOf(row).limit, () => reveal(proxy));
    expect(gist(await reveal(proxy))).toBe('429 RATE_LIMITED');
    expect((await reveal(other)).json).toEqual({ key: other.key });
  },

  'order: penalty box': async (stage) => {
    const [agent, other] = await stage.agents(2, 'github');
    await useFloor(stage, agent!);
    expectRefusal(await agent!.ask('github'), '429 RATE_LIMITED');
    await stage.admin('POST', '/api/vault/lock');
    for (const name of ['github', 'nothing', 'a/b', ''])
      expectRefusal(await agent!.ask(name), '429 RATE_LIMITED');
    expectRefusal(await other!.ask('github'), '423 VAULT_LOCKED');
    await stage.admin('POST', '/api/vault/unlock');
    expectRefusal(await agent!.list(), '429 RATE_LIMITED');
    expect((await other!.ask('github')).status).toBe(307);
  },

  'order: floor': async (stage) => {
    const [atOnce, later] = await stage.agents(2);
    await useFloor(stage, atOnce!);
    expect((await atOnce!.list()).json.retryAfter).toBe(60);
    await useFloor(stage, later!);
    stage.wait(45_500);
    expect((await later!.list()).json.retryAfter).toBe(15);
    // No second strike while it is locked out, and no longer lockout.
    stage.wait(14_499);
    expect((await later!.list()).json.retryAfter).toBe(1);
    stage.wait(1);
    expect((await later!.list()).status).toBe(200);
    stage.wait(MINUTE_MS);
    expect(await violate(stage, later!)).toBe(2);
  },

  'order: aggregate': async (stage) => {
    const [over, under] = await stage.agents(2, 'github');
    await useFloor(stage, over!);
    await fillAggregate(stage);
    // Over its floor: struck, though the ceiling is reached too. Under it: refused before anything is said of grants.
    expectRefusal(await over!.list(), '429 RATE_LIMITED');
    for (const name of ['github', 'nothing', 'a/b'])
      expectRefusal(await under!.ask(name), '429 RATE_LIMITED');
    expect(await lockouts(stage)).toMatchObject([{ callerId: over!.id, strikes: 1 }]);
    // What the floor refused was not counted behind it, what the ceiling refused was no miss.
    stage.wait(MINUTE_MS);
    expectRefusal(await under!.ask('nothing'), '404 NO_GRANT');
    expect((await under!.ask('github')).status).toBe(307);
  },

  'order: grant and policies': async (stage) => {
    const agent = await stage.agent('github');
    await stage.policy({ type: 'manual_approval' }, { targetType: 'agent', targetId: agent.id });
    expectRefusal(await agent.ask('nothing'), '404 NO_GRANT');
    for (const answer of await times(FLOOR - 1, () => agent.ask('github')))
      expectRefusal(answer, '403 POLICY_DENIED');
    expectRefusal(await agent.ask('github'), '429 RATE_LIMITED');
  },

  'penalty box: doubling': async (stage) => {
    const agent = await stage.agent();
    const lengths: number[] = [];
    while (lengths.length < 12) {
      const seconds = await violate(stage, agent);
      lengths.push(seconds);
      stage.wait(seconds * 1_000 - 1);
      expect((await agent.list()).json.retryAfter).toBe(1);
      stage.wait(1);
    }
    expect(lengths).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
  },

  'penalty box: decay': async (stage) => {
    const [almost, hour, hours] = await stage.agents(3);
    const strikeThrice = async (agent: PairAgent): Promise<void> => {
      for (const seconds of [1, 2, 4]) {
        expect(await violate(stage, agent)).toBe(seconds);
        stage.wait(seconds * 1_000);
      }
    };
    /** The next violation, so long after the last one. */
    const violateAfter = (agent: PairAgent, ms: number): Promise<number> => {
      stage.wait(ms - 4_000 - LATE_MS);
      return violate(stage, agent);
    };
    await strikeThrice(almost!);
    expect(await violateAfter(almost!, HOUR_MS - 1)).toBe(8);
    await strikeThrice(hour!);
    expect(await violateAfter(hour!, HOUR_MS)).toBe(4);
    await strikeThrice(hours!);
    expect(await violateAfter(hours!, 3 * HOUR_MS)).toBe(1);
  },
} as const satisfies Partial<Record<keyof typeof LIMIT_ROWS, Play<Row>>>;
