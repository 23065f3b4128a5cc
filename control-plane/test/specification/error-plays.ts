import { newKey } from '@svault/shared';
import { expect } from 'vitest';
import { type PairAgent, pathFor } from '../pair-agents.ts';
import { type RestRefusal, expectRefusal } from './answers.ts';
import type { ERROR_ROWS } from './error-rows.ts';
import { useFloor } from './floor-plays.ts';
import type { Row } from './row.ts';
import { type Play, type Stage, raiseCurtain, times } from './stage.ts';

const HOUR_MS = 3_600_000;

/** `401 | MISSING_KEY | …` → `401 MISSING_KEY`: the row's first two cells are what is answered. */
const named = ({ says }: Row): RestRefusal => says.split(' | ').slice(0, 2).join(' ') as RestRefusal;

const withKey = ({ anyone }: Stage, key: string) =>
  anyone('GET', pathFor('github'), { headers: { authorization: `Bearer ${key}` } });

/** Stops the webhook and asks. */
async function askedOfAnAwayOne(stage: Stage, agent: PairAgent): ReturnType<PairAgent['ask']> {
  await stage.pair.stop('webhook');
  return agent.ask('github');
}

/** The specification's rules other than `rate_limit`, each set to block at the stage's time. */
export const BLOCKING_RULES = [
  {
    type: 'time_window',
    timezone: 'UTC',
    windows: [{ days: [1, 2, 3, 4, 5, 6, 7], start: '03:00', end: '03:01' }],
  },
  { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] },
  { type: 'geo_restrict', mode: 'allow', countries: ['CH'] },
  { type: 'max_usage', limit: 1 },
  { type: 'manual_approval' },
] as const;

export const ERROR_PLAYS = {
  MISSING_KEY: async ({ anyone }, row) => {
    const answer = await anyone('GET', pathFor('github'));
    expectRefusal(answer, named(row));
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  },

  INVALID_KEY: async (stage, row) => {
    const agent = await stage.agent('github');
    for (const malformed of ['nonsense', 'svagent_short', `${agent.apiKey}x`, newKey('mcp')])
      expectRefusal(await withKey(stage, malformed), named(row));
    expectRefusal(await withKey(stage, newKey('svagent')), named(row));
    await stage.admin('POST', `/api/agents/${agent.id}/rotate-key`);
    expectRefusal(await agent.ask('github'), named(row));
  },

  AGENT_INACTIVE: async (stage, row) => {
    const agent = await stage.agent('github');
    for (const [method, path] of [
      ['POST', `/api/agents/${agent.id}/suspend`],
      ['DELETE', `/api/agents/${agent.id}`],
    ] as const) {
      await stage.admin(method, path);
      for (const answer of [await agent.ask('github'), await agent.ask('a/b'), await agent.list()])
        expectRefusal(answer, named(row));
    }
  },

  'POLICY_DENIED 403': async (stage, row) => {
    for (const rule of BLOCKING_RULES) {
      const agent = await stage.agent('github');
      const name = await stage.policy(rule, { targetType: 'agent', targetId: agent.id });
      if (rule.type === 'max_usage') expect((await agent.ask('github')).status).toBe(307);
      const answer = await agent.ask('github');
      expectRefusal(answer, named(row));
      expect(answer.json).toMatchObject({ policy: name, rule: rule.type });
      // Listing evaluates none (contract.md, "Policies").
      expect((await agent.list()).status).toBe(200);
    }
  },

  'POLICY_DENIED 429': async (stage, row) => {
    const agent = await stage.agent('github', 'second');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 7 };
    await stage.policy(rule, { targetType: 'agent', targetId: agent.id });
    expect((await agent.ask('github')).status).toBe(307);
    for (const name of ['github', 'second']) {
      const answer = await agent.ask(name);
      expectRefusal(answer, named(row));
      expect(answer.headers.get('retry-after')).toBe('7');
    }
  },

  GRANT_EXPIRED: async (stage, row) => {
    const agent = await stage.agent();
    await stage.grant(agent, { serviceName: 'hourly', expiresInSeconds: 3_600 });
    stage.wait(HOUR_MS);
    // Of many at once, one meets the grant and deletes it.
    const answers = await Promise.all(Array.from({ length: 8 }, () => agent.ask('hourly')));
    const expired = answers.filter(({ json }) => json.code === 'GRANT_EXPIRED');
    expect(expired).toHaveLength(1);
    expectRefusal(expired[0]!, named(row));
    for (const answer of answers) if (answer !== expired[0]) expectRefusal(answer, '404 NO_GRANT');
    expect((await stage.admin('GET', `/api/agents/${agent.id}/grants`)).json.items).toEqual([]);
  },

  INVALID_SERVICE: async (stage, row) => {
    const agent = await stage.agent('a');
    for (const name of ['a/b', '/', 'a/']) expectRefusal(await agent.ask(name), named(row));
  },

  NO_GRANT: async (stage, row) => {
    const [agent, other] = await stage.agents(2);
    await stage.grant(other!, { serviceName: 'elsewhere' });
    await stage.admin('POST', '/api/tokens', { body: { serviceName: 'known', tokenType: 'PlainText' } });
    const answers = [
      await agent!.ask('known'),
      await agent!.ask('elsewhere'),
      await agent!.ask('unheard-of'),
    ];
    for (const answer of answers) expectRefusal(answer, named(row));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  },

  RATE_LIMITED: async (stage, row) => {
    const crowd = await stage.agents(10, 'github');
    const [boxed] = crowd;
    await useFloor(stage, ...crowd);
    // The floor limit, then the penalty box.
    for (const answer of await times(2, () => boxed!.ask('github'))) expectRefusal(answer, named(row));
    // Over the miss limit.
    const misser = await stage.agent('github');
    await times(10, () => misser.ask('nothing'));
    expectRefusal(await misser.ask('nothing'), named(row));
    expect((await misser.ask('github')).status).toBe(307);
    // The aggregate, which is down at 600 once the crowd is gone.
    await stage.deleteAgents(crowd);
    expectRefusal(await misser.ask('github'), named(row));
  },

  VAULT_LOCKED: async (stage, row) => {
    const agent = await stage.agent('github');
    await stage.admin('POST', '/api/vault/lock');
    for (const name of ['github', 'nothing']) expectRefusal(await agent.ask(name), named(row));
    expect((await agent.list()).json.grants).toHaveLength(1);
    await stage.admin('POST', '/api/vault/unlock');
    expect((await agent.ask('github')).status).toBe(307);
  },

  WEBHOOK_NOT_CONFIGURED: async (_bound, row) => {
    const stage = await raiseCurtain({ bound: false });
    try {
      expectRefusal(await (await stage.agent('github')).ask('github'), named(row));
    } finally {
      await stage.close();
    }
  },

  'body: policy denial': async (stage) => {
    const agent = await stage.agent('github');
    const token = { targetType: 'token', targetId: 'github' } as const;
    const name = await stage.policy(
      { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] },
      token,
      'from the office',
    );
    const answer = await agent.ask('github');
    expectRefusal(answer, '403 POLICY_DENIED');
    expect(answer.json).toEqual({
      error: expect.any(String),
      policy: name,
      rule: 'ip_allowlist',
      reason: expect.any(String),
      code: 'POLICY_DENIED',
    });
  },

  'body: rate_limit': async (stage) => {
    const agent = await stage.agent('github');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 3_600 };
    const name = await stage.policy(rule, { targetType: 'agent', targetId: agent.id }, 'hourly');
    await agent.ask('github');
    stage.wait(1);
    expect((await agent.ask('github')).json).toEqual({
      error: expect.any(String),
      policy: name,
      rule: 'rate_limit',
      reason: expect.any(String),
      code: 'POLICY_DENIED',
      retryAfter: 3_600,
    });
  },

  'body: miss limit': async (stage) => {
    const agent = await stage.agent();
    await times(10, () => agent.ask('nothing'));
    stage.wait(20_500);
    expect((await agent.ask('nothing')).json).toEqual({
      error: expect.any(String),
      code: 'RATE_LIMITED',
      retryAfter: 40,
    });
  },

  'webhook offline': async (stage) => {
    const agent = await stage.agent('github');
    // Not known yet: the redirect, whose fetch fails at the webhook. A job of the service's own may have called first.
    let asked = await askedOfAnAwayOne(stage, agent);
    for (let tries = 1; asked.status === 503 && tries < 4; tries++) {
      await stage.pair.start('webhook');
      await stage.admin('GET', '/api/webhook');
      asked = await askedOfAnAwayOne(stage, agent);
    }
    const { status, headers } = asked;
    expect(status).toBe(307);
    const fetched = await fetch(headers.get('location') ?? '').then(
      (answer) => answer.status,
      () => 'no answer',
    );
    expect(['no answer', 502]).toContain(fetched);
    await stage.admin('GET', '/api/webhook');
    expectRefusal(await agent.ask('github'), '503 WEBHOOK_UNAVAILABLE');
    expectRefusal(await agent.ask('nothing'), '404 NO_GRANT');
    await stage.pair.start('webhook');
    await stage.admin('GET', '/api/webhook');
    expect((await agent.ask('github')).status).toBe(307);
  },
} as const satisfies Partial<Record<keyof typeof ERROR_ROWS, Play<Row>>>;
