import { newKey } from '@svault/shared';
import { expect } from 'vitest';
import { type PairAgent, pathFor } from '../support/pair-agents.ts';
import { expectRefusal } from './answers.ts';
import { BLOCKING_RULES, type Fixture, startFixture, times, useFloor, test } from './fixture.ts';
import { spec } from '@svault/test-kit/spec';

const HOUR_MS = 3_600_000;

const withKey = ({ anyone }: Fixture, key: string) =>
  anyone('GET', pathFor('github'), { headers: { authorization: `Bearer ${key}` } });

/** Stops the webhook and asks. */
async function askedOfAnAwayOne(fixture: Fixture, agent: PairAgent): ReturnType<PairAgent['ask']> {
  await fixture.pair.stop('webhook');
  return agent.ask('github');
}

test(
  'a request without a key is 401 MISSING_KEY',
  spec('401 | MISSING_KEY | No key in a header.'),
  async ({ fixture }) => {
    const { anyone } = fixture;
    const answer = await anyone('GET', pathFor('github'));
    expectRefusal(answer, '401 MISSING_KEY');
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
  },
);

test(
  'a malformed, unknown or rotated key is 403 INVALID_KEY',
  spec('403 | INVALID_KEY | Key malformed or revoked.'),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    for (const malformed of ['nonsense', 'svagent_short', `${agent.apiKey}x`, newKey('mcp')])
      expectRefusal(await withKey(fixture, malformed), '403 INVALID_KEY');
    expectRefusal(await withKey(fixture, newKey('svagent')), '403 INVALID_KEY');
    await fixture.admin('POST', `/api/agents/${agent.id}/rotate-key`);
    expectRefusal(await agent.ask('github'), '403 INVALID_KEY');
  },
);

test(
  'the key of a suspended or deleted agent is 403 AGENT_INACTIVE, whatever it asks for',
  spec('403 | AGENT_INACTIVE | Agent suspended or deleted.'),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    for (const [method, path] of [
      ['POST', `/api/agents/${agent.id}/suspend`],
      ['DELETE', `/api/agents/${agent.id}`],
    ] as const) {
      await fixture.admin(method, path);
      for (const answer of [await agent.ask('github'), await agent.ask('a/b'), await agent.list()])
        expectRefusal(answer, '403 AGENT_INACTIVE');
    }
  },
);

test(
  'a denial by any rule but rate_limit is 403 POLICY_DENIED, and list mode evaluates no policy',
  spec('403 | POLICY_DENIED | An ABAC rule other than rate_limit blocked the request.'),
  async ({ fixture }) => {
    for (const rule of BLOCKING_RULES) {
      const agent = await fixture.agent('github');
      const name = await fixture.policy(rule, { targetType: 'agent', targetId: agent.id });
      if (rule.type === 'max_usage') expect((await agent.ask('github')).status).toBe(307);
      const answer = await agent.ask('github');
      expectRefusal(answer, '403 POLICY_DENIED');
      expect(answer.json).toMatchObject({ policy: name, rule: rule.type });
      // List mode evaluates no policy.
      expect((await agent.list()).status).toBe(200);
    }
  },
);

test(
  'a denial by a rate_limit rule is 429 POLICY_DENIED with Retry-After',
  spec(
    '429 | POLICY_DENIED | A rate_limit rule blocked it. The body adds retryAfter, and the response carries a Retry-After header.',
  ),
  async ({ fixture }) => {
    const agent = await fixture.agent('github', 'second');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 7 };
    await fixture.policy(rule, { targetType: 'agent', targetId: agent.id });
    expect((await agent.ask('github')).status).toBe(307);
    for (const name of ['github', 'second']) {
      const answer = await agent.ask(name);
      expectRefusal(answer, '429 POLICY_DENIED');
      expect(answer.headers.get('retry-after')).toBe('7');
    }
  },
);

test(
  'of many requests for an expired grant one is 403 GRANT_EXPIRED and deletes it',
  spec('403 | GRANT_EXPIRED | Grant existed but expired (it is deleted on this request).'),
  async ({ fixture }) => {
    const agent = await fixture.agent();
    await fixture.grant(agent, { serviceName: 'hourly', expiresInSeconds: 3_600 });
    fixture.wait(HOUR_MS);
    // Of many at once, one meets the grant and deletes it.
    const answers = await Promise.all(Array.from({ length: 8 }, () => agent.ask('hourly')));
    const expired = answers.filter(({ json }) => json.code === 'GRANT_EXPIRED');
    expect(expired).toHaveLength(1);
    expectRefusal(expired[0]!, '403 GRANT_EXPIRED');
    for (const answer of answers) if (answer !== expired[0]) expectRefusal(answer, '404 NO_GRANT');
    expect((await fixture.admin('GET', `/api/agents/${agent.id}/grants`)).json.items).toEqual([]);
  },
);

test(
  'a service name with a slash is 400 INVALID_SERVICE',
  spec('400 | INVALID_SERVICE | Service name contains /.'),
  async ({ fixture }) => {
    const agent = await fixture.agent('a');
    for (const name of ['a/b', '/', 'a/']) expectRefusal(await agent.ask(name), '400 INVALID_SERVICE');
  },
);

test(
  'a missing grant is 404 NO_GRANT, in the same bytes for known and unknown services',
  spec('404 | NO_GRANT | No active grant for the service.'),
  async ({ fixture }) => {
    const [agent, other] = await fixture.agents(2);
    await fixture.grant(other!, { serviceName: 'elsewhere' });
    await fixture.admin('POST', '/api/tokens', { body: { serviceName: 'known', tokenType: 'PlainText' } });
    const answers = [
      await agent!.ask('known'),
      await agent!.ask('elsewhere'),
      await agent!.ask('unheard-of'),
    ];
    for (const answer of answers) expectRefusal(answer, '404 NO_GRANT');
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  },
);

test(
  'the floor, the penalty box, the missing-grant limit and the account ceiling are 429 RATE_LIMITED',
  spec('429 | RATE_LIMITED | Penalty box, floor limit, account aggregate, or over the no-grant miss limit.'),
  async ({ fixture }) => {
    const crowd = await fixture.agents(10, 'github');
    const [boxed] = crowd;
    await useFloor(fixture, ...crowd);
    // The floor limit, then the penalty box.
    for (const answer of await times(2, () => boxed!.ask('github')))
      expectRefusal(answer, '429 RATE_LIMITED');
    // Over the miss limit.
    const misser = await fixture.agent('github');
    await times(10, () => misser.ask('nothing'));
    expectRefusal(await misser.ask('nothing'), '429 RATE_LIMITED');
    expect((await misser.ask('github')).status).toBe(307);
    // The aggregate, which is down at 600 once the crowd is gone.
    await fixture.deleteAgents(crowd);
    expectRefusal(await misser.ask('github'), '429 RATE_LIMITED');
  },
);

test(
  'a locked vault is 423 VAULT_LOCKED, and list mode still answers',
  spec('423 | VAULT_LOCKED | The owner has locked the vault.'),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    await fixture.admin('POST', '/api/vault/lock');
    for (const name of ['github', 'nothing']) expectRefusal(await agent.ask(name), '423 VAULT_LOCKED');
    expect((await agent.list()).json.grants).toHaveLength(1);
    await fixture.admin('POST', '/api/vault/unlock');
    expect((await agent.ask('github')).status).toBe(307);
  },
);

test(
  'without a bound webhook a credential request is 502 WEBHOOK_NOT_CONFIGURED',
  spec('502 | WEBHOOK_NOT_CONFIGURED | No webhook is bound to the vault.'),
  async () => {
    const fixture = await startFixture({ bound: false });
    try {
      expectRefusal(await (await fixture.agent('github')).ask('github'), '502 WEBHOOK_NOT_CONFIGURED');
    } finally {
      await fixture.close();
    }
  },
);

test(
  'the body of a policy denial has error, policy, rule, reason and code',
  spec(
    'Body shapes (field names, no values):',
    'Policy denial: {error (string), policy (policy name), rule (rule type), reason (string), code: POLICY_DENIED}.',
  ),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    const token = { targetType: 'token', targetId: 'github' } as const;
    const name = await fixture.policy(
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
);

test(
  'the body of a rate_limit denial adds retryAfter',
  spec('With rate_limit, also retryAfter (integer seconds).'),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 3_600 };
    const name = await fixture.policy(rule, { targetType: 'agent', targetId: agent.id }, 'hourly');
    await agent.ask('github');
    fixture.wait(1);
    expect((await agent.ask('github')).json).toEqual({
      error: expect.any(String),
      policy: name,
      rule: 'rate_limit',
      reason: expect.any(String),
      code: 'POLICY_DENIED',
      retryAfter: 3_600,
    });
  },
);

test(
  'the body of the missing-grant limit has error, code and retryAfter',
  spec('No-grant miss limit: {error, code: RATE_LIMITED, retryAfter}.'),
  async ({ fixture }) => {
    const agent = await fixture.agent();
    await times(10, () => agent.ask('nothing'));
    fixture.wait(20_500);
    expect((await agent.ask('nothing')).json).toEqual({
      error: expect.any(String),
      code: 'RATE_LIMITED',
      retryAfter: 40,
    });
  },
);

test(
  'a redirect to a webhook that is offline fails there, and once that is known the request is 503',
  spec(
    'When the webhook is offline, the redirect fetch fails at the webhook. The webhook-mode description also states that agent',
  ),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    // Not known yet: the redirect, whose fetch fails at the webhook. A job of the service's own may have called first.
    let asked = await askedOfAnAwayOne(fixture, agent);
    for (let tries = 1; asked.status === 503 && tries < 4; tries++) {
      await fixture.pair.start('webhook');
      await fixture.admin('GET', '/api/webhook');
      asked = await askedOfAnAwayOne(fixture, agent);
    }
    const { status, headers } = asked;
    expect(status).toBe(307);
    const fetched = await fetch(headers.get('location') ?? '').then(
      (answer) => answer.status,
      () => 'no answer',
    );
    expect(['no answer', 502]).toContain(fetched);
    await fixture.admin('GET', '/api/webhook');
    expectRefusal(await agent.ask('github'), '503 WEBHOOK_UNAVAILABLE');
    expectRefusal(await agent.ask('nothing'), '404 NO_GRANT');
    await fixture.pair.start('webhook');
    await fixture.admin('GET', '/api/webhook');
    expect((await agent.ask('github')).status).toBe(307);
  },
);
