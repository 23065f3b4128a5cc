import { setTimeout as delay } from 'node:timers/promises';
import { type TestApprover, enrolApprover } from '@svault/test-kit/approver';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MAX_WAITING } from '../../src/access/approval-waiters.ts';
import { type Answer, clientOf } from '../support/management-service.ts';
import { type PairAgent, agentOn, pathFor, storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { POLICY_SETTINGS, policySteps, toAgent } from '../support/policy-calls.ts';

// Requests that are held open until somebody has decided.

let service: PairedService;
let approver: TestApprover;
let agent: PairAgent;
const { make, attach } = policySteps(() => service.pair);

beforeAll(async () => {
  service = await startPairedService({ env: POLICY_SETTINGS });
  approver = await enrolApprover(service.pair);
  await storeOn(service.pair, 'github', { tokenType: 'PlainText', value: 'v' });
  const approval = { by: 'passkey', for: ['credential'] };
  await storeOn(service.pair, 'sealed', { tokenType: 'PlainText', value: 'v', approval });
});
afterAll(() => service.stop());
beforeEach(async () => {
  service.clock.advance(20 * 60_000);
  agent = await agentOn(service.pair, 'github', 'sealed');
});

const ask = (query: string, signal?: AbortSignal): Promise<Response> =>
  fetch(service.pair.controlPlaneUrl() + pathFor('github') + query, {
    headers: { authorization: `Bearer ${agent.apiKey}` },
    redirect: 'manual',
    ...(signal && { signal }),
  });
const askSealed = (query: string): Promise<Answer> =>
  clientOf(service.pair.controlPlaneUrl(), { authorization: `Bearer ${agent.apiKey}` })(
    'GET',
    pathFor('sealed') + query,
  );
const holdBack = async (): Promise<void> =>
  void (await attach(await make('people decide', { type: 'manual_approval', uses: 100 }), toAgent(agent)));

/** The one that waits for a decision, once it is there. */
async function pending(): Promise<{ readonly id: string; readonly url: string; readonly reason: string }> {
  for (;;) {
    const { json } = await service.admin('GET', '/api/approvals?status=pending');
    const [found] = json.items.filter(({ agentId }: { agentId: string }) => agentId === agent.id);
    if (found !== undefined) return found;
    await delay(10);
  }
}
const decide = (id: string, decision: 'approve' | 'deny'): Promise<Answer> =>
  service.admin('POST', `/api/approvals/${id}/${decision}`);

describe('a request with wait', () => {
  test('is answered as soon as a member approves it, with the reason that it gave', async () => {
    await holdBack();
    const startedMs = performance.now();
    const asking = ask('&wait=30&reason=deploying%20v2');
    const { id, reason } = await pending();
    expect(reason).toBe('deploying v2');
    await decide(id, 'approve');
    expect((await asking).status).toBe(307);
    expect(performance.now() - startedMs).toBeLessThan(15_000);
  });

  test('is answered as soon as a member denies it', async () => {
    await holdBack();
    const asking = ask('&wait=30');
    const { id } = await pending();
    await decide(id, 'deny');
    const answer = await asking;
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ code: 'POLICY_DENIED', approval: { id, status: 'denied' } });
  });

  test('is answered once its credential was approved at the webhook', async () => {
    const asking = askSealed('&wait=30&reason=x');
    await approver.decide((await pending()).url);
    expect((await asking).status).toBe(307);
  });

  test('is denied with what is open once its time is over', async () => {
    await holdBack();
    const answer = await ask('&wait=1');
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ approval: { status: 'pending' } });
  });

  test('is decided again after the wait: what ended meanwhile is not given', async () => {
    await holdBack();
    const asking = ask('&wait=30');
    const { id } = await pending();
    await service.admin('POST', `/api/agents/${agent.id}/suspend`);
    await decide(id, 'approve');
    expect(await (await asking).json()).toMatchObject({ code: 'AGENT_INACTIVE' });
  });

  test('counts once against its limits', async () => {
    await holdBack();
    const limit = await make('slow', { type: 'rate_limit', limit: 1, windowSeconds: 3_600 });
    await attach(limit, toAgent(agent));
    const asking = ask('&wait=30');
    await decide((await pending()).id, 'approve');
    expect((await asking).status).toBe(307);
    expect((await ask('')).status).toBe(429);
  });

  test('ends with its client, and makes room for another', async () => {
    await holdBack();
    const ending = new AbortController();
    const waiting = Array.from({ length: MAX_WAITING.ofAccount }, () =>
      ask('&wait=30', ending.signal).catch(() => 'gone'),
    );
    const { id } = await pending();
    // As many as may wait do.
    await expect.poll(async () => (await ask('&wait=1')).status, { timeout: 20_000 }).toBe(403);
    ending.abort();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['gone']));
    const asking = ask('&wait=30');
    await delay(100);
    await decide(id, 'approve');
    expect((await asking).status).toBe(307);
  });

  test('is not understood with other values', async () => {
    for (const query of [
      '&wait=31',
      '&wait=-1',
      '&wait=1.5',
      '&wait=',
      '&wait=1&wait=2',
      '&reason=',
      `&reason=${'x'.repeat(501)}`,
      '&reason=%00',
    ]) {
      const answer = await ask(query);
      expect([query, answer.status, await answer.json()]).toMatchObject([
        query,
        400,
        { code: 'INVALID_REQUEST' },
      ]);
    }
  });
});
