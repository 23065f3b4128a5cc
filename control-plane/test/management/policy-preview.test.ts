import type { AdminRefused } from '@svault/compose/admin-client';
import type { TestPair } from '@svault/test-kit/pair';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { RuleSettings } from '../../src/core/policy.ts';
import { clientOf } from '../support/management-service.ts';
import { type PairAgent, agentOn } from '../support/pair-agents.ts';
import { type Target, policySteps, startPolicyPair, toAgent, toToken } from '../support/policy-calls.ts';

interface Example {
  readonly seq: number;
  readonly agentId: string;
  readonly decision: string;
  readonly draftDecision: string;
  readonly rule: string;
}
interface Preview {
  readonly looked: number;
  readonly since: string | null;
  readonly complete: boolean;
  readonly changed: number;
  readonly denied: number;
  readonly allowed: number;
  readonly unknown: number;
  readonly examples: readonly Example[];
}
interface LogEvent {
  readonly seq: number;
  readonly timestamp: string;
  readonly detail?: { readonly rule?: string };
}

const INSIDE = '192.0.2.7';
const OUTSIDE = '198.51.100.7';
const NETWORK: RuleSettings = { type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] };
const NEVER: RuleSettings = { type: 'manual_approval' };

let pair: TestPair;
let agent: PairAgent;
const { make, attach, change, askFrom } = policySteps(() => pair);

beforeAll(async () => {
  pair = await startPolicyPair('github', 'npm');
});
afterAll(() => pair.close());
beforeEach(async () => {
  agent = await agentOn(pair, 'github', 'npm');
});

const preview = (body: object): Promise<Preview> =>
  pair.admin.call<Preview>('POST', '/api/policies/preview', body);
const draft = (targets: readonly Target[], ...rules: RuleSettings[]): Promise<Preview> =>
  preview({ name: 'draft', rules, attachments: targets });
async function attached(name: string, ...rules: RuleSettings[]): Promise<string> {
  const policyId = await make(name, ...rules);
  await attach(policyId, toAgent(agent));
  return policyId;
}
const newestEvent = async (): Promise<LogEvent> =>
  (await pair.admin.call<{ items: readonly [LogEvent] }>('GET', '/api/audit?limit=1')).items[0];

test('POST /api/policies/preview names the allowed requests that a new policy denies, newest first, and says what it looked at', async () => {
  const before = await draft([toAgent(agent)], NETWORK);
  await askFrom(agent, INSIDE);
  await askFrom(agent, OUTSIDE);
  pair.clock.advance(1_000);
  await askFrom(agent, OUTSIDE, 'npm');
  const { seq, timestamp } = await newestEvent();
  const { name } = await pair.admin.call<{ name: string }>('GET', `/api/agents/${agent.id}`);
  const { since, ...found } = await draft([toAgent(agent)], NETWORK);
  const both = {
    ...{ agentId: agent.id, agentName: name, address: OUTSIDE, decision: 'allowed', draftDecision: 'denied' },
    ...{ policy: 'draft', rule: 'ip_allowlist', reason: 'It is not available from this network address.' },
  };
  expect(found).toEqual({
    looked: before.looked + 3,
    complete: true,
    changed: 2,
    denied: 2,
    allowed: 0,
    unknown: 0,
    examples: [
      { ...both, seq, eventId: expect.stringMatching(/^evt_/), timestamp, serviceName: 'npm' },
      {
        ...{ ...both, seq: seq - 1, eventId: expect.stringMatching(/^evt_/), serviceName: 'github' },
        timestamp: new Date(Date.parse(timestamp) - 1_000).toISOString(),
      },
    ],
  });
  expect(Date.parse(since ?? '')).toBeLessThan(Date.parse(timestamp));
  // On a credential it decides about this credential alone.
  expect(
    (await draft([toToken('npm')], NETWORK)).examples.filter(({ agentId }) => agentId === agent.id),
  ).toMatchObject([{ seq }]);
});

test('a preview with policyId names the denied requests that the changed policy lets through', async () => {
  const policyId = await attached('walls', NETWORK);
  await askFrom(agent, OUTSIDE);
  const wider = { policyId, rules: [{ ...NETWORK, cidrs: ['192.0.2.0/24', '198.51.100.0/24'] }] };
  const letThrough = { decision: 'denied', draftDecision: 'allowed', policy: 'walls', rule: 'ip_allowlist' };
  for (const changed of [wider, { policyId, enabled: false }, { policyId, attachments: [] }])
    expect(await preview(changed)).toMatchObject({ denied: 0, allowed: 1, examples: [letThrough] });
  expect(await preview({ policyId })).toMatchObject({ changed: 0, unknown: 0, examples: [] });

  // Another policy that denies it now keeps it denied.
  const other = await attached('others', NETWORK);
  expect(await preview(wider)).toMatchObject({ changed: 0, unknown: 0 });
  await change(other, { enabled: false });
  expect(await preview(wider)).toMatchObject({ allowed: 1 });
});

test('requests that were denied for another reason stay denied in a preview', async () => {
  const stranger = await agentOn(pair);
  await attached('first', NEVER);
  const policyId = await make('second', NEVER);
  for (const target of [toAgent(agent), toAgent(stranger)]) await attach(policyId, target);
  expect((await askFrom(stranger, INSIDE)).json.code).toBe('NO_GRANT');
  expect((await askFrom(agent, INSIDE)).json.policy).toBe('first');
  expect(await preview({ policyId, enabled: false })).toMatchObject({ changed: 0, unknown: 0 });
});

test('a request without an address is unknown where a rule needs it, and denied where another rule denies', async () => {
  await askFrom(agent, 'unknown');
  const countries: RuleSettings = { type: 'geo_restrict', mode: 'deny', countries: ['NL'] };
  for (const rule of [NETWORK, countries])
    expect(await draft([toAgent(agent)], rule)).toMatchObject({ changed: 0, unknown: 1, examples: [] });
  expect(await draft([toAgent(agent)], NETWORK, NEVER)).toMatchObject({
    unknown: 0,
    examples: [{ rule: 'manual_approval' }],
  });
});

test('a preview of a policy on a proxy looks at the requests of the proxy', async () => {
  const { proxy, key } = await pair.admin.call<{ proxy: { id: string }; key: string }>(
    'POST',
    '/api/proxies',
    {
      ...{ name: 'mcp', upstreamUrl: 'https://127.0.0.1:1/', upstreamAuthType: 'Token' },
      serviceName: 'github',
    },
  );
  await clientOf(pair.controlPlaneUrl())('POST', '/api/proxy/mcp', {
    body: { jsonrpc: '2.0', id: 1, method: 'ping' },
    headers: { 'x-mcp-key': key },
  });
  const target: Target = { targetType: 'proxy', targetId: proxy.id };
  expect(await draft([target], NEVER)).toMatchObject({
    changed: 1,
    examples: [{ proxyId: proxy.id, proxyName: 'mcp', serviceName: 'github', rule: 'manual_approval' }],
  });
  await pair.admin.call('DELETE', `/api/proxies/${proxy.id}`);
});

test('a max_usage rule that stays starts with the uses before the log that was read', async () => {
  const policyId = await attached('uses', { type: 'max_usage', limit: 2 });
  for (let n = 0; n < 4; n++) await askFrom(agent, INSIDE);
  const limitOf = (limit: number) => preview({ policyId, rules: [{ type: 'max_usage', limit }] });
  expect(await limitOf(1)).toMatchObject({ denied: 1, allowed: 0 });
  expect(await limitOf(2)).toMatchObject({ changed: 0 });
  expect(await limitOf(3)).toMatchObject({ denied: 0, allowed: 1 });
  expect(await limitOf(9)).toMatchObject({ denied: 0, allowed: 2 });
});

const ruleDrawn: fc.Arbitrary<RuleSettings> = fc.oneof(
  fc.record({
    type: fc.constant('time_window' as const),
    timezone: fc.constantFrom('UTC', 'Australia/Lord_Howe'),
    windows: fc.constant([{ days: [1, 2, 3, 4, 5, 6, 7], start: '06:00', end: '20:00' }]),
  }),
  fc.record({
    type: fc.constant('ip_allowlist' as const),
    cidrs: fc.subarray(['193.0.0.0/16', '8.8.8.8', '2001:db8::/32'], { minLength: 1 }),
  }),
  fc.record({
    type: fc.constant('geo_restrict' as const),
    mode: fc.constantFrom('allow' as const, 'deny' as const),
    countries: fc.subarray(['NL', 'US'], { minLength: 1 }),
  }),
  fc.record({ type: fc.constant('max_usage' as const), limit: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    type: fc.constant('rate_limit' as const),
    limit: fc.integer({ min: 1, max: 2 }),
    windowSeconds: fc.constantFrom(3_600, 8 * 3_600),
  }),
);
const askedDrawn = fc.record({
  ip: fc.constantFrom('193.0.6.139', '8.8.8.8', '2001:db8::7'),
  minutesLater: fc.integer({ min: 0, max: 6 * 60 }),
});

test('a preview equals what the policy decides about the same requests, and the other way round', async () => {
  const drawn = fc.tuple(
    fc.array(ruleDrawn, { minLength: 1, maxLength: 3 }),
    fc.array(askedDrawn, { minLength: 6, maxLength: 8 }),
  );
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(drawn, async ([rules, questions]) => {
      const [free, bound] = [await agentOn(pair, 'github'), await agentOn(pair, 'github')];
      const policyId = await make('saved', ...rules);
      await attach(policyId, toAgent(bound));
      const deniedBy: string[] = [];
      const freeSeqs: number[] = [];
      const boundSeqs: number[] = [];
      for (const { ip, minutesLater } of questions) {
        pair.clock.advance(minutesLater * 60_000);
        const { status, json } = await askFrom(bound, ip);
        const { seq: boundSeq } = await newestEvent();
        await askFrom(free, ip);
        if (status === 307) continue;
        deniedBy.push(json.rule);
        boundSeqs.push(boundSeq);
        freeSeqs.push((await newestEvent()).seq);
      }
      const { examples } = await draft([toAgent(free)], ...rules);
      expect(examples.toReversed().map(({ seq, rule }) => [seq, rule])).toEqual(
        freeSeqs.map((seq, index) => [seq, deniedBy[index]]),
      );
      const off = await preview({ policyId, enabled: false });
      expect(off.examples.toReversed().map(({ seq, rule }) => [seq, rule])).toEqual(
        boundSeqs.map((seq, index) => [seq, deniedBy[index]]),
      );
      for (const rule of deniedBy) seen.add(rule);
      await pair.admin.call('DELETE', `/api/policies/${policyId}`);
    }),
    // A fixed seed, whose policies give every kind of answer.
    { numRuns: 8, endOnFailure: true, seed: 9 },
  );
  expect(seen).toEqual(new Set(['geo_restrict', 'ip_allowlist', 'max_usage', 'rate_limit', 'time_window']));
});

test('a preview changes nothing: no event, no count, no policy', async () => {
  await attached(
    'twice',
    { type: 'max_usage', limit: 2 },
    { type: 'rate_limit', limit: 2, windowSeconds: 60 },
  );
  await askFrom(agent, INSIDE);
  const before = await newestEvent();
  const list = () => pair.admin.call('GET', `/api/policies?targetType=agent&targetId=${agent.id}`);
  const policies = await list();
  await draft([toAgent(agent)], { type: 'rate_limit', limit: 1, windowSeconds: 60 });
  expect(await newestEvent()).toEqual(before);
  expect(await list()).toEqual(policies);
  expect((await askFrom(agent, INSIDE)).status).toBe(307);
});

test('a preview rejects an unknown policy, an unknown target, and a draft that says too little', async () => {
  const status = (body: object): Promise<number> =>
    preview(body).then(
      () => 200,
      (error: AdminRefused) => error.status,
    );
  const rules = [NEVER];
  const unknown: Target = { targetType: 'agent', targetId: 'agt_AAAAAAAAAAAAAAAAAAAAAA' };
  expect(await status({ policyId: 'pol_AAAAAAAAAAAAAAAAAAAAAA' })).toBe(404);
  expect(await status({ name: 'n', rules, attachments: [unknown] })).toBe(404);
  expect(await status({ name: 'n', rules, attachments: [toToken('nothing')] })).toBe(404);
  for (const body of [{}, { name: 'n', rules }, { name: 'n', attachments: [] }, { rules, attachments: [] }])
    expect(await status(body)).toBe(422);
  const many = Array.from({ length: 101 }, () => toAgent(agent));
  expect(await status({ name: 'n', rules, attachments: many })).toBe(422);
  expect(await status({ name: 'n', rules: [{ type: 'max_usage', limit: 0 }], attachments: [] })).toBe(422);
});
