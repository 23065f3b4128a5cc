import type { TestPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RuleSettings } from '../../src/core/policy.ts';
import type { Answer } from '../support/management-service.ts';
import { type PairAgent, agentOn, grant } from '../support/pair-agents.ts';
import { policySteps, startPolicyPair, toAgent } from '../support/policy-calls.ts';
import { expectRefusal } from '../support/refusals.ts';

// The rule manual_approval, decided by members, as an agent meets it.

let pair: TestPair;
let agent: PairAgent;
const { make, attach, change } = policySteps(() => pair);
const MINUTE_MS = 60_000;

beforeAll(async () => {
  pair = await startPolicyPair('github', 'npm');
});
afterAll(() => pair.close());
beforeEach(async () => {
  pair.clock.advance(10 * MINUTE_MS);
  agent = await agentOn(pair, 'github', 'npm');
});

interface Open {
  readonly id: string;
  readonly status: string;
  readonly url: string;
  readonly expiresAt: string;
}

/** The approval in a denial. */
function openIn(answer: Answer): Open {
  expectRefusal(answer, '403 POLICY_DENIED');
  return answer.json.approval;
}

type Settings = Omit<Extract<RuleSettings, { type: 'manual_approval' }>, 'type'>;
/** @returns the policy */
async function holdBack(settings: Settings = {}): Promise<string> {
  const policy = await make('people decide', { type: 'manual_approval', ...settings });
  await attach(policy, toAgent(agent));
  return policy;
}
const ask = async (service = 'github'): Promise<Open> => openIn(await agent.ask(service));
const decide = (id: string, decision: 'approve' | 'deny') =>
  pair.admin.call<{ status: string }>('POST', `/api/approvals/${id}/${decision}`);

describe('a request that a policy holds back', () => {
  test('is denied with where it is decided, and passes once it was approved, once', async () => {
    await holdBack();
    const open = await ask();
    expect(open.status).toBe('pending');
    expect(new URL(open.url).pathname).toBe(`/approvals/${open.id}`);
    expect(await ask()).toEqual(open);
    expect(await decide(open.id, 'approve')).toMatchObject({ status: 'approved', used: 0, uses: 1 });
    expect((await agent.fetch('github')).status).toBe(200);
    const next = await ask();
    expect(next.id).not.toBe(open.id);
    const read = await pair.admin.call('GET', `/api/approvals/${open.id}`);
    expect(read).toMatchObject({ status: 'used', used: 1, agentId: agent.id, serviceName: 'github' });
  });

  test('passes as often as its rule says, until the approval expires', async () => {
    await holdBack({ uses: 3, expiresInSeconds: 300 });
    await decide((await ask()).id, 'approve');
    for (let n = 0; n < 2; n++) expect((await agent.ask('github')).status).toBe(307);
    pair.clock.advance(300_000);
    expect((await ask()).status).toBe('pending');
  });

  test('is not approved by what was approved for another credential', async () => {
    await holdBack();
    const open = await ask();
    await ask('npm');
    await decide(open.id, 'approve');
    expect((await ask('npm')).status).toBe('pending');
  });

  test('is silenced for ten minutes by a denial', async () => {
    await holdBack();
    const open = await ask();
    await decide(open.id, 'deny');
    pair.clock.advance(10 * MINUTE_MS - 1);
    expect(await ask()).toMatchObject({ id: open.id, status: 'denied' });
    pair.clock.advance(1);
    expect((await ask()).id).not.toBe(open.id);
  });

  test('can be decided for 15 minutes', async () => {
    await holdBack();
    const open = await ask();
    pair.clock.advance(15 * MINUTE_MS);
    await expect(decide(open.id, 'approve')).rejects.toThrow(/expired/);
    expect((await ask()).id).not.toBe(open.id);
  });

  test('is let through once by a thousand requests at the same time', async () => {
    await holdBack();
    await decide((await ask()).id, 'approve');
    pair.clock.advance(1_000);
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => agent.ask('github')));
    expect(answers.filter(({ status }) => status === 307)).toHaveLength(1);
    const open = answers.filter(({ status }) => status !== 307).map((answer) => openIn(answer));
    expect(new Set(open.map(({ id }) => id)).size).toBe(1);
  });

  test('puts no more than twenty requests of an agent before people, and a hundred for a credential', async () => {
    const services = Array.from({ length: 21 }, (_, n) => `service-${n}`);
    agent = await agentOn(pair, ...services);
    const policy = await make('people decide', { type: 'manual_approval' });
    await attach(policy, toAgent(agent));
    const asked: Answer[] = [];
    for (const service of services) asked.push(await agent.ask(service));
    expect(asked.filter(({ json }) => json.approval !== undefined)).toHaveLength(20);
    expect(asked.at(-1)?.json).toMatchObject({
      code: 'POLICY_DENIED',
      reason: expect.stringContaining('too many'),
    });
    await attach(policy, { targetType: 'token', targetId: 'npm' });
    const ofOne: Answer[] = [];
    for (let n = 0; n < 101; n++) ofOne.push(await (await agentOn(pair, 'npm')).ask('npm'));
    expect(ofOne.filter(({ json }) => json.approval !== undefined)).toHaveLength(100);
  });

  test('is denied again once its approval was taken back', async () => {
    await holdBack({ uses: 5 });
    const open = await ask();
    await decide(open.id, 'approve');
    expect((await agent.ask('github')).status).toBe(307);
    await decide(open.id, 'deny');
    expect(await ask()).toMatchObject({ id: open.id, status: 'denied' });
  });

  test('is judged by its rule as it is now, where that was tightened after the approval', async () => {
    const policy = await holdBack({ uses: 3, expiresInSeconds: 86_400 });
    const tighten = (settings: Settings) =>
      change(policy, { rules: [{ type: 'manual_approval', ...settings }] });
    const first = await ask();
    await decide(first.id, 'approve');
    expect((await agent.ask('github')).status).toBe(307);
    await tighten({ uses: 1, expiresInSeconds: 86_400 });
    const second = await ask();
    expect([second.status, second.id === first.id]).toEqual(['pending', false]);
    await decide(second.id, 'approve');
    pair.clock.advance(10 * MINUTE_MS);
    await tighten({ uses: 1, expiresInSeconds: 300 });
    expect((await ask()).status).toBe('pending');
    // One that was loosened makes no more of what was approved.
    await tighten({ uses: 3, expiresInSeconds: 86_400 });
    expect((await agent.ask('github')).status).toBe(403);
  });

  test('loses what was approved with its grant', async () => {
    await holdBack({ uses: 5 });
    const open = await ask();
    await decide(open.id, 'approve');
    await pair.admin.call('DELETE', `/api/agents/${agent.id}/grants/github`);
    await expect(decide(open.id, 'deny')).rejects.toThrow(/NOT_FOUND/);
    await grant(pair, agent.id, { serviceName: 'github' });
    expect((await ask()).id).not.toBe(open.id);
  });

  test('is put before nobody any more once its agent is gone', async () => {
    await holdBack();
    const open = await ask();
    await pair.admin.call('DELETE', `/api/agents/${agent.id}`);
    await expect(decide(open.id, 'approve')).rejects.toThrow(/NOT_FOUND/);
    expectRefusal(await agent.ask('github'), '403 AGENT_INACTIVE');
  });

  test('is denied after it was approved and denied at once, in whatever order', async () => {
    await holdBack({ uses: 100 });
    for (let round = 0; round < 10; round++) {
      const open = await ask();
      const decided = await Promise.allSettled([decide(open.id, 'approve'), decide(open.id, 'deny')]);
      expect(decided[1].status).toBe('fulfilled');
      expect(await ask()).toMatchObject({ id: open.id, status: 'denied' });
      pair.clock.advance(10 * MINUTE_MS);
    }
  });

  test('is never let through after its approval was taken back, however many are on the way', async () => {
    await holdBack({ uses: 100 });
    const open = await ask();
    await decide(open.id, 'approve');
    const asking = Array.from({ length: 30 }, () => agent.ask('github'));
    await decide(open.id, 'deny');
    await Promise.all(asking);
    const { items } = await pair.admin.call<{ items: { eventType: string; outcome: string }[] }>(
      ...(['GET', `/api/audit?agentId=${agent.id}&limit=100`] as const),
    );
    // Newest first.
    const since = items.slice(
      0,
      items.findIndex(({ eventType }) => eventType === 'APPROVAL_DENIED'),
    );
    expect(since.filter(({ outcome }) => outcome === 'success')).toEqual([]);
  });
});

test('pages of approvals lead through all of them', async () => {
  await holdBack();
  const asked = [(await ask('github')).id, (await ask('npm')).id];
  const read: string[] = [];
  let cursor = '';
  do {
    const page = await pair.admin.call<{ items: { id: string }[]; nextCursor?: string }>(
      ...(['GET', `/api/approvals?limit=1${cursor}`] as const),
    );
    read.push(...page.items.map(({ id }) => id));
    cursor = page.nextCursor === undefined ? '' : `&cursor=${encodeURIComponent(page.nextCursor)}`;
  } while (cursor !== '');
  expect(read.filter((id) => asked.includes(id)).toSorted()).toEqual(asked.toSorted());
});
