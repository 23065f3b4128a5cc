import { type TestPair, startPair } from '@svault/test-kit/pair';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RuleSettings } from '../../src/core/policy.ts';
import type { Answer } from '../support/management-service.ts';
import { type PairAgent, agentOn, storeOn } from '../support/pair-agents.ts';
import { COUNTRIES_MMDB, policySteps, toAgent, toToken } from '../support/policy-calls.ts';

// A simulation of the present against the next request, for random policies.

let pair: TestPair;
let agent: PairAgent;
const { make, attach, change, askFrom } = policySteps(() => pair);

beforeAll(async () => {
  pair = await startPair({
    logLevel: 'silent',
    env: {
      SV_TRUSTED_PROXIES: '127.0.0.0/8',
      SV_GEOIP_DB: COUNTRIES_MMDB,
      SV_LIMIT_AGENT_CREDENTIALS: '100000',
      SV_LIMIT_USER_AGGREGATE: '100000',
    },
  });
  await storeOn(pair, 'github', { tokenType: 'PlainText', value: 'v' });
  agent = await agentOn(pair, 'github');
});
afterAll(() => pair.close());

/** Rules of each kind that allow and deny equally often. */
const ruleDrawn: fc.Arbitrary<RuleSettings> = fc.oneof(
  fc.record({
    type: fc.constant('time_window' as const),
    timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/St_Johns'),
    windows: fc.constantFrom(
      [{ days: [1, 2, 3, 4, 5, 6, 7], start: '00:00', end: '23:59' }],
      [{ days: [2, 4, 6], start: '21:00', end: '03:00' }],
    ),
  }),
  fc.record({
    type: fc.constant('ip_allowlist' as const),
    cidrs: fc.subarray(['193.0.0.0/16', '::ffff:193.0.6.0/120', '8.8.8.8', '2001:db8::/32', '10.0.0.0/8'], {
      minLength: 1,
    }),
  }),
  fc.record({
    type: fc.constant('geo_restrict' as const),
    mode: fc.constantFrom('allow' as const, 'deny' as const),
    countries: fc.subarray(['NL', 'US', 'DE'], { minLength: 1 }),
  }),
  fc.record({ type: fc.constant('max_usage' as const), limit: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    type: fc.constant('rate_limit' as const),
    limit: fc.integer({ min: 1, max: 2 }),
    windowSeconds: fc.constant(30 * 24 * 3_600),
  }),
);
const policyDrawn = fc.record({
  name: fc.constantFrom('a', 'b', 'Größe "c" \\ 𝄞'),
  enabled: fc.boolean(),
  targets: fc.subarray(['agent', 'token'] as const, { minLength: 1 }),
  rules: fc.array(ruleDrawn, { minLength: 1, maxLength: 3 }),
});
const askedDrawn = fc.record({
  ip: fc.constantFrom('193.0.6.139', '8.8.8.8', '::ffff:8.8.8.8', '2001:db8::7', '10.1.2.3', '::1'),
  minutesLater: fc.integer({ min: 0, max: 24 * 60 }),
});

interface Simulated {
  readonly decision: 'allowed' | 'denied';
  readonly denial?: object;
}

/** The outcome of a simulation or an answer: `allowed`, or the denial. */
const promised = ({ decision, denial }: Simulated): unknown => denial ?? decision;
function kept({ status, json }: Answer): unknown {
  // A simulation counts nothing, so an exhausted rate shows in the request only.
  if (status === 307 || (status === 429 && json.rule === 'rate_limit')) return 'allowed';
  const { policy, rule, reason } = json;
  return { policy, rule, reason };
}

test('a simulation of the present equals the decision of the next request', async () => {
  const drawn = fc.tuple(
    fc.array(policyDrawn, { minLength: 1, maxLength: 3 }),
    fc.array(askedDrawn, { minLength: 3, maxLength: 5 }),
  );
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(drawn, async ([policies, questions]) => {
      const ids: string[] = [];
      for (const { name, enabled, targets, rules } of policies) {
        const id = await make(name, ...rules);
        ids.push(id);
        for (const target of targets)
          await attach(id, target === 'agent' ? toAgent(agent) : toToken('github'));
        if (!enabled) await change(id, { enabled });
      }
      for (const { ip, minutesLater } of questions) {
        pair.clock.advance(minutesLater * 60_000);
        const simulation = await pair.admin.call<Simulated>('POST', '/api/policies/simulate', {
          agentId: agent.id,
          serviceName: 'github',
          ip,
        });
        const answer = await askFrom(agent, ip);
        expect(kept(answer)).toEqual(promised(simulation));
        seen.add(answer.json?.rule ?? 'allowed');
      }
      for (const id of ids) await pair.admin.call('DELETE', `/api/policies/${id}`);
    }),
    // A fixed seed, whose policies give every kind of answer.
    { numRuns: 8, endOnFailure: true, seed: 9 },
  );
  expect(seen).toEqual(
    new Set(['allowed', 'geo_restrict', 'ip_allowlist', 'max_usage', 'rate_limit', 'time_window']),
  );
});
