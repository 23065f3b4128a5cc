import type { TestPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentOn } from '../support/pair-agents.ts';
import { policySteps, startPolicyPair, toAgent } from '../support/policy-calls.ts';

let pair: TestPair;
const { make, attach } = policySteps(() => pair);

beforeAll(async () => {
  pair = await startPolicyPair('github');
});
afterAll(() => pair.close());

test('an approval lets one of a thousand requests through that PostgreSQL decides at the same time', async () => {
  const agent = await agentOn(pair, 'github');
  await attach(await make('people decide', { type: 'manual_approval' }), toAgent(agent));
  const { id } = (await agent.ask('github')).json.approval;
  await pair.admin.call('POST', `/api/approvals/${id}/approve`);
  pair.clock.advance(1_000);
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => agent.ask('github')));
  expect(answers.filter(({ status }) => status === 307)).toHaveLength(1);
  // A busy database may refuse some, which says nothing of them.
  const others = answers.filter(({ status }) => status !== 307 && status !== 503);
  const open = others.map(({ status, json }) => `${status} ${json.code} ${json.approval?.id}`);
  expect([...new Set(open)]).toEqual([expect.stringMatching(/^403 POLICY_DENIED apr_/)]);
});
