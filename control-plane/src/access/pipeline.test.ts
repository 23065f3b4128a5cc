import type { Id } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { LifetimeUse } from '../core/policy.ts';
import { AgentFixture, GITHUB, SESSION, rateOf } from './access-fixture.ts';
import type { AgentSubject } from './subject.ts';

const [RATE, ATTACHED] = [rateOf('rul_1'), rateOf('rul_9')] as const;
const USE: LifetimeUse = { ruleId: 'rul_2', targetType: 'agent', targetId: 'agt_1', limit: 9 };

let fixture: AgentFixture;
beforeEach(() => {
  fixture = new AgentFixture();
});

describe('an access whose account changes before it is recorded', () => {
  const changes: readonly (readonly [string, Partial<AgentSubject>])[] = [
    ['AGENT_INACTIVE', { status: 'suspended' }],
    ['MCP_DISABLED', { mcpEnabled: 0 }],
    ['VAULT_LOCKED', { vaultLockedAt: '2026-11-20T12:00:00.000Z' }],
    ['NO_GRANT', { grantId: null }],
    ['WEBHOOK_NOT_CONFIGURED', { webhookId: null }],
  ];
  it.each(changes)('is denied with %s, without a ticket or a success in the log', async (code, change) => {
    fixture.meanwhile = () => fixture.change(change);
    expect(await fixture.answer(GITHUB, { channel: 'mcp' })).toEqual({ code });
    expect(fixture.events).toMatchObject([
      { outcome: expect.not.stringMatching('success'), detail: { code } },
    ]);
    expect(fixture.calls).not.toContain('ticket');
    expect(fixture.admissions).toHaveLength(1);
  });

  it('is denied with INVALID_KEY where the session was revoked, without an event', async () => {
    fixture.meanwhile = () => (fixture.subject = undefined);
    const answer = await fixture.answer(GITHUB, { channel: 'mcp', credential: SESSION });
    expect(answer).toEqual({ code: 'INVALID_KEY' });
    expect(fixture.events).toEqual([]);
    expect(fixture.calls).not.toContain('ticket');
  });

  it('is denied by the rule whose last use another request took', async () => {
    fixture.policy = { allowed: true, rates: [RATE], uses: [USE] };
    const consumed = { allowed: false, policy: 'p', rule: 'max_usage', reason: 'consumed' } as const;
    fixture.meanwhile = () => (fixture.policy = consumed);
    expect(await fixture.answer(GITHUB)).toMatchObject({ code: 'POLICY_DENIED', rule: 'max_usage' });
    expect(fixture.calls).not.toContain('ticket');
  });

  it('counts as a missing grant only when the grant was revoked', async () => {
    fixture.meanwhile = () => fixture.change({ grantId: null });
    const denial = { scope: 'agent_no_grant', retryAfterSeconds: 30 } as const;
    fixture.take = { allowed: false, ...denial };
    expect(await fixture.answer(GITHUB)).toEqual({ code: 'RATE_LIMITED', ...denial });
    expect(fixture.calls).toContain('take agt_1');
  });

  it('is decided again on the new revision, and counted once', async () => {
    fixture.meanwhile = () => fixture.change({ grantId: 'grt_2' as Id<'grt'>, accountRevision: 8 });
    expect(await fixture.answer(GITHUB)).toBe('ticket');
    expect(fixture.preconditions.map(({ accountRevision }) => accountRevision)).toEqual([7, 8]);
    expect(fixture.events).toMatchObject([{ outcome: 'success' }]);
    expect(fixture.admissions).toHaveLength(1);
  });

  it('counts against a rate that was attached meanwhile, and against each rate once', async () => {
    fixture.policy = { allowed: true, rates: [RATE], uses: [] };
    fixture.meanwhile = () => {
      fixture.policy = { allowed: true, rates: [ATTACHED], uses: [] };
      fixture.meanwhile = () => (fixture.policy = { allowed: true, rates: [RATE, ATTACHED], uses: [] });
    };
    expect(await fixture.answer(GITHUB)).toBe('ticket');
    expect(fixture.calls.filter((call) => call.startsWith('take'))).toEqual(['take rul_9 agent agt_1']);
  });

  it('counts against a rate whose limit was lowered meanwhile', async () => {
    const { counter } = RATE;
    fixture.policy = { allowed: true, rates: [RATE], uses: [] };
    fixture.meanwhile = () => {
      const lowered = { ...RATE, counter: { ...counter, limit: counter.limit - 1 } };
      fixture.policy = { allowed: true, rates: [lowered], uses: [] };
    };
    fixture.take = { allowed: false, scope: 'rate_limit', retryAfterSeconds: 4 };
    expect(await fixture.answer(GITHUB)).toMatchObject({ code: 'POLICY_DENIED', retryAfterSeconds: 4 });
  });

  it('is denied by a full rate that was attached meanwhile', async () => {
    fixture.meanwhile = () => (fixture.policy = { allowed: true, rates: [ATTACHED], uses: [] });
    fixture.take = { allowed: false, scope: 'rate_limit', retryAfterSeconds: 4 };
    const denial = { code: 'POLICY_DENIED', ...ATTACHED.denial, retryAfterSeconds: 4 };
    expect(await fixture.answer(GITHUB)).toEqual(denial);
  });

  it('throws AUDIT_UNAVAILABLE after a hundred attempts', async () => {
    let revision = 7;
    const change = (): void => {
      fixture.change({ accountRevision: ++revision });
      fixture.meanwhile = change;
    };
    fixture.meanwhile = change;
    await expect(fixture.decide(GITHUB)).rejects.toMatchObject({
      code: 'AUDIT_UNAVAILABLE',
      details: { retryAfter: 1 },
    });
    expect(fixture.events).toEqual([]);
    expect(fixture.preconditions).toHaveLength(100);
  });
});
