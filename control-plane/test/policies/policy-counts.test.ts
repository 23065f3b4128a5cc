import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { type PairAgent, agentOn, storeOn } from '../support/pair-agents.ts';
import { policySteps, toAgent, toToken } from '../support/policy-calls.ts';

// Counting rules under many concurrent requests.

let pair: TestPair;
const { make, attach, change } = policySteps(() => pair);

beforeAll(async () => {
  pair = await startPair({
    logLevel: 'silent',
    env: { SV_LIMIT_AGENT_CREDENTIALS: '100000', SV_LIMIT_USER_AGGREGATE: '100000' },
  });
  await storeOn(pair, 'github', { tokenType: 'PlainText', value: 'v' });
});
afterAll(() => pair.close());

const atOnce = (count: number, agents: readonly PairAgent[], serviceName = 'github'): Promise<Answer[]> =>
  Promise.all(
    Array.from({ length: count }, (_, at) => (agents[at % agents.length] as PairAgent).ask(serviceName)),
  );
const tally = (answers: readonly Answer[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status, json } of answers) {
    const what = status === 307 ? 'ticket' : `${status} ${json.code} ${json.rule}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
};
const successesOf = async (agents: readonly PairAgent[]): Promise<number> => {
  let successes = 0;
  for (const { id } of agents) {
    let query = `agentId=${id}&eventType=AGENT_CREDENTIAL_ACCESS&limit=100`;
    for (;;) {
      const page = await pair.admin.call<{ items: { outcome: string }[]; nextCursor?: string }>(
        'GET',
        `/api/audit?${query}`,
      );
      successes += page.items.filter(({ outcome }) => outcome === 'success').length;
      if (page.nextCursor === undefined) break;
      query = `${query.replace(/&cursor=.*/, '')}&cursor=${page.nextCursor}`;
    }
  }
  return successes;
};

test('exactly 100 of 1,000 concurrent requests pass a max_usage of 100', async () => {
  const agent = await agentOn(pair, 'github');
  await attach(await make('a hundred', { type: 'max_usage', limit: 100 }), toAgent(agent));
  expect(tally(await atOnce(1_000, [agent]))).toEqual({ ticket: 100, '403 POLICY_DENIED max_usage': 900 });
  expect(await successesOf([agent])).toBe(100);
  expect(tally(await atOnce(10, [agent]))).toEqual({ '403 POLICY_DENIED max_usage': 10 });
});

test("a token's max_usage is shared by all agents, in addition to each agent's", async () => {
  await storeOn(pair, 'shared', { tokenType: 'PlainText', value: 'v' });
  const agents = [
    await agentOn(pair, 'shared'),
    await agentOn(pair, 'shared'),
    await agentOn(pair, 'shared'),
  ];
  await attach(await make('of the token', { type: 'max_usage', limit: 50 }), toToken('shared'));
  const own = await make('of each agent', { type: 'max_usage', limit: 20 });
  for (const agent of agents) await attach(own, toAgent(agent));
  expect(tally(await atOnce(300, agents, 'shared'))).toEqual({
    ticket: 50,
    '403 POLICY_DENIED max_usage': 250,
  });
  for (const agent of agents) expect(await successesOf([agent])).toBeLessThanOrEqual(20);
  expect(await successesOf(agents)).toBe(50);
});

test('exactly the limit of concurrent requests passes a rate_limit', async () => {
  const agent = await agentOn(pair, 'github');
  await attach(await make('slow', { type: 'rate_limit', limit: 30, windowSeconds: 60 }), toAgent(agent));
  expect(tally(await atOnce(100, [agent]))).toEqual({ ticket: 30, '429 POLICY_DENIED rate_limit': 70 });
});

test('no access follows the answer that attached a denying policy, while requests are in flight', async () => {
  const agent = await agentOn(pair, 'github');
  const policyId = await make('switch', { type: 'manual_approval' });
  await change(policyId, { enabled: false });
  await attach(policyId, toAgent(agent));
  for (let round = 0; round < 5; round++) {
    const before = await successesOf([agent]);
    const inFlight = atOnce(50, [agent]);
    await change(policyId, { enabled: true });
    const atAnswer = await successesOf([agent]);
    await inFlight;
    expect(await successesOf([agent])).toBe(atAnswer);
    expect(atAnswer).toBeGreaterThanOrEqual(before);
    await change(policyId, { enabled: false });
  }
});
