import type { Id } from '@svault/shared';
import { beforeEach, expect, it } from 'vitest';
import type { RateUse } from '../policies/evaluate.ts';
import type { AgentSubject } from './subject.ts';
import { AccessStage, GITHUB, SESSION } from './staged-access.ts';
import type { LifetimeUse } from '../core/policy.ts';

// An access that is withdrawn after it was decided and before it is written down.

const rateOf = (ruleId: string): RateUse => ({
  counter: { scope: 'rate_limit', key: `${ruleId} agent agt_1`, limit: 5, windowMs: 60_000 },
  denial: { policy: 'slow', rule: 'rate_limit', reason: 'too often' },
});
const [RATE, ATTACHED] = [rateOf('rul_1'), rateOf('rul_9')] as const;
const USE: LifetimeUse = { ruleId: 'rul_2', targetType: 'agent', targetId: 'agt_1', limit: 9 };

let stage: AccessStage;
beforeEach(() => {
  stage = new AccessStage();
});

const withdrawals: readonly (readonly [string, Partial<AgentSubject>])[] = [
  ['AGENT_INACTIVE', { status: 'suspended' }],
  ['MCP_DISABLED', { mcpEnabled: 0 }],
  ['VAULT_LOCKED', { vaultLockedAt: '2026-11-20T12:00:00.000Z' }],
  ['NO_GRANT', { grantId: null }],
  ['WEBHOOK_NOT_CONFIGURED', { webhookId: null }],
];
it.each(withdrawals)('is answered %s, with no ticket and no success in the log', async (code, change) => {
  stage.meanwhile = () => stage.change(change);
  expect(await stage.said(GITHUB, { channel: 'mcp' })).toEqual({ code });
  expect(stage.events).toMatchObject([{ outcome: expect.not.stringMatching('success'), detail: { code } }]);
  expect(stage.asked).not.toContain('ticket');
  expect(stage.admissions).toHaveLength(1);
});

it('is answered INVALID_KEY where the session has ended, and nothing is written', async () => {
  stage.meanwhile = () => (stage.isKnown = false);
  expect(await stage.said(GITHUB, { channel: 'mcp', credential: SESSION })).toEqual({ code: 'INVALID_KEY' });
  expect(stage.events).toEqual([]);
  expect(stage.asked).not.toContain('ticket');
});

it('is a denial of the rule whose last use went to another request', async () => {
  stage.policy = { allowed: true, rates: [RATE], uses: [USE] };
  const usedUp = { allowed: false, policy: 'p', rule: 'max_usage', reason: 'used up' } as const;
  stage.meanwhile = () => (stage.policy = usedUp);
  expect(await stage.said(GITHUB)).toMatchObject({ code: 'POLICY_DENIED', rule: 'max_usage' });
  expect(stage.asked).not.toContain('ticket');
});

it('is counted as a miss only then, and limited as one', async () => {
  stage.meanwhile = () => stage.change({ grantId: null });
  stage.take = { allowed: false, scope: 'agent_no_grant', retryAfterSeconds: 30 };
  expect(await stage.said(GITHUB)).toEqual({
    code: 'RATE_LIMITED',
    scope: 'agent_no_grant',
    retryAfterSeconds: 30,
  });
  expect(stage.asked).toContain('take agt_1');
});

it('is decided anew where it was given again at once', async () => {
  stage.meanwhile = () => stage.change({ grantId: 'grt_2' as Id<'grt'>, accountRevision: 8 });
  expect(await stage.said(GITHUB)).toBe('ticket');
  expect(stage.preconditions.map(({ accountRevision }) => accountRevision)).toEqual([7, 8]);
  expect(stage.events).toMatchObject([{ outcome: 'success' }]);
  expect(stage.admissions).toHaveLength(1);
});

it('counts against a rate that was attached meanwhile, and not again against one that came back', async () => {
  stage.policy = { allowed: true, rates: [RATE], uses: [] };
  stage.meanwhile = () => {
    stage.policy = { allowed: true, rates: [ATTACHED], uses: [] };
    stage.meanwhile = () => (stage.policy = { allowed: true, rates: [RATE, ATTACHED], uses: [] });
  };
  expect(await stage.said(GITHUB)).toBe('ticket');
  expect(stage.asked.filter((what) => what.startsWith('take'))).toEqual(['take rul_9 agent agt_1']);
});

it('is a denial of a rate that was attached meanwhile and is full', async () => {
  stage.meanwhile = () => (stage.policy = { allowed: true, rates: [ATTACHED], uses: [] });
  stage.take = { allowed: false, scope: 'rate_limit', retryAfterSeconds: 4 };
  expect(await stage.said(GITHUB)).toEqual({
    code: 'POLICY_DENIED',
    ...ATTACHED.denial,
    retryAfterSeconds: 4,
  });
});

it('gives up where it keeps changing', async () => {
  const change = (): void => {
    stage.change({ accountRevision: stage.subject.accountRevision + 1 });
    stage.meanwhile = change;
  };
  stage.meanwhile = change;
  await expect(stage.ask(GITHUB)).rejects.toMatchObject({
    code: 'AUDIT_UNAVAILABLE',
    details: { retryAfter: 1 },
  });
  expect(stage.events).toEqual([]);
  expect(stage.preconditions).toHaveLength(10);
});
