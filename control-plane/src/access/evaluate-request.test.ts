import type { Id } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { LifetimeUse } from '../core/policy.ts';
import type { PolicyDecision } from '../policies/evaluate.ts';
import { AgentFixture, GITHUB, rateOf } from './access-fixture.ts';
import type { Operation } from './decision.ts';

const RATE = rateOf('rul_1');
const USE: LifetimeUse = { ruleId: 'rul_2', targetType: 'agent', targetId: 'agt_1', limit: 9 };
const COUNTED: PolicyDecision = { allowed: true, rates: [RATE], uses: [USE] };
const CLOSED: PolicyDecision = {
  allowed: false,
  policy: 'office hours',
  rule: 'time_window',
  reason: 'outside',
};
const LOCKED = { vaultLockedAt: '2026-11-20T00:00:00.000Z' };
const EXPIRED = { grantExpiresAt: '2026-11-20T12:00:00.000Z' };
const NO_GRANT = { grantId: null };
const CALLER = { vaultId: 'vlt_1', agentId: 'agt_1', accessRequests: false };
const MISSING_GRANT_COUNTER = { scope: 'agent_no_grant', key: 'agt_1', limit: 10, windowMs: 60_000 };

let fixture: AgentFixture;
beforeEach(() => {
  fixture = new AgentFixture();
});

describe('policies, for a credential', () => {
  it('deny with policy, rule and reason', async () => {
    fixture.policy = CLOSED;
    const { policy, rule, reason } = CLOSED;
    expect(await fixture.answer(GITHUB)).toEqual({ code: 'POLICY_DENIED', policy, rule, reason });
    expect(fixture.events).toMatchObject([{ outcome: 'denied', detail: { policy, rule } }]);
  });

  it('have their rates counted with the floor, and their lifetime uses with the event', async () => {
    fixture.policy = COUNTED;
    expect(await fixture.answer(GITHUB)).toBe('ticket');
    expect(fixture.admissions).toMatchObject([{ extraCounters: [RATE.counter] }]);
    expect(fixture.preconditions).toMatchObject([{ uses: [USE] }]);
  });

  it('deny by a full rate with the seconds to wait, and count no lifetime use', async () => {
    fixture.policy = COUNTED;
    fixture.admit = { allowed: false, scope: 'rate_limit', key: RATE.counter.key, retryAfterSeconds: 5 };
    const denial = { code: 'POLICY_DENIED', ...RATE.denial, retryAfterSeconds: 5 };
    expect(await fixture.answer(GITHUB)).toEqual(denial);
    expect(fixture.events).toMatchObject([{ outcome: 'rate_limited', detail: { policy: 'slow' } }]);
    expect(fixture.preconditions).toEqual([]);
  });

  it('are not named by a denial of the floor', async () => {
    fixture.policy = COUNTED;
    fixture.admit = { allowed: false, scope: 'agent_credentials', retryAfterSeconds: 17 };
    expect(await fixture.answer(GITHUB)).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 17 });
  });

  it('have no rate counted for a request that is denied for another reason', async () => {
    fixture.policy = CLOSED;
    await fixture.decide(GITHUB);
    fixture.change(LOCKED);
    fixture.policy = COUNTED;
    await fixture.decide(GITHUB);
    expect(fixture.admissions).toMatchObject([{ extraCounters: [] }, { extraCounters: [] }]);
    expect(fixture.preconditions).toEqual([]);
  });
});

describe.each([
  ['credential', GITHUB],
  ['grant', { kind: 'grant', serviceName: 'github' }],
] as const)('the grant, for the operation %s', (_kind, operation) => {
  it('expires at its time and not before, and is deleted then', async () => {
    fixture.change({ grantExpiresAt: '2026-11-20T12:00:00.001Z' });
    expect(await fixture.decide(operation)).not.toMatchObject({ outcome: 'denied' });
    fixture.clock.advance(1);
    fixture.events.length = 0;
    expect(await fixture.answer(operation)).toEqual({ code: 'GRANT_EXPIRED' });
    expect(fixture.events).toMatchObject([
      { eventType: 'GRANT_EXPIRED', serviceName: 'github' },
      { eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'denied', detail: { code: 'GRANT_EXPIRED' } },
    ]);
  });

  it('denies with NO_GRANT after another request has deleted it', async () => {
    fixture.change(EXPIRED);
    fixture.isGrantDeleted = true;
    expect(await fixture.answer(operation)).toEqual({ code: 'NO_GRANT' });
  });

  it('denies with NO_GRANT where there is none, logged and counted with the request', async () => {
    fixture.change(NO_GRANT);
    expect(await fixture.answer(operation)).toEqual({ code: 'NO_GRANT' });
    expect(fixture.events).toMatchObject([{ outcome: 'denied', detail: { code: 'NO_GRANT' } }]);
    expect(fixture.admissions).toMatchObject([
      { traffic: 'agent_credentials', extraCounters: [MISSING_GRANT_COUNTER] },
    ]);
  });

  it('is not deleted where the limit of missing grants denies', async () => {
    fixture.admit = { allowed: false, scope: 'agent_no_grant', key: 'agt_1', retryAfterSeconds: 30 };
    for (const change of [EXPIRED, NO_GRANT]) {
      fixture.change(change);
      const denial = { code: 'RATE_LIMITED', scope: 'agent_no_grant', retryAfterSeconds: 30 };
      expect(await fixture.answer(operation)).toEqual(denial);
      expect(fixture.admissions.at(-1)).toMatchObject({ extraCounters: [MISSING_GRANT_COUNTER] });
    }
    expect([fixture.events, fixture.calls]).toEqual([[], expect.not.arrayContaining(['delete'])]);
  });
});

describe('the operation grant', () => {
  const SHOW: Operation = { kind: 'grant', serviceName: 'github' };

  it('answers the grant as in the list, and writes nothing', async () => {
    const grantExpiresAt = '2026-11-21T00:00:00.000Z';
    fixture.change({ grantExpiresAt });
    const grant = {
      serviceName: 'github',
      grantExpiresAt,
      refreshPolicy: 'auto',
      sourceGroupId: 'fld_1',
    };
    expect(await fixture.decide(SHOW)).toEqual({ outcome: 'grant', caller: CALLER, grant });
    expect(fixture.calls).toEqual(['store', 'limiter']);
    expect([fixture.events, fixture.preconditions]).toEqual([[], []]);
  });

  it('needs no policy, no webhook and no unlocked vault', async () => {
    fixture.change({ ...LOCKED, webhookId: null });
    fixture.policy = CLOSED;
    expect(await fixture.answer(SHOW)).toBe('grant');
  });

  it('does not delete an expired grant of a locked vault', async () => {
    fixture.change({ ...LOCKED, ...EXPIRED });
    for (let again = 0; again < 2; again++)
      expect(await fixture.answer(SHOW)).toEqual({ code: 'GRANT_EXPIRED' });
    expect(fixture.calls).not.toContain('delete');
    const event = { eventType: 'AGENT_CREDENTIAL_ACCESS', detail: { code: 'GRANT_EXPIRED' } };
    expect(fixture.events).toMatchObject([event, event]);
  });
});

describe('the operation history', () => {
  const HISTORY: Operation = { kind: 'history', serviceName: 'github' };

  it('counts against its own limit together with the floor', async () => {
    expect(await fixture.decide(HISTORY)).toEqual({ outcome: 'admitted', caller: CALLER });
    expect(fixture.admissions).toMatchObject([
      {
        traffic: 'agent_credentials',
        extraCounters: [{ scope: 'credential_history', key: 'agt_1', limit: 20, windowMs: 60_000 }],
      },
    ]);
  });

  it('needs no grant, no policy, no webhook and no unlocked vault, and writes nothing', async () => {
    fixture.change({ ...LOCKED, ...NO_GRANT, webhookId: null });
    fixture.policy = CLOSED;
    expect(await fixture.answer(HISTORY)).toBe('admitted');
    expect([fixture.calls, fixture.events]).toEqual([['store', 'limiter'], []]);
  });

  it('is denied beyond its own limit by the scope of that limit', async () => {
    const denial = { scope: 'credential_history', retryAfterSeconds: 9 } as const;
    fixture.admit = { allowed: false, key: 'agt_1', ...denial };
    expect(await fixture.answer(HISTORY)).toEqual({ code: 'RATE_LIMITED', ...denial });
  });
});

it.each(['credential', 'grant', 'history'] as const)(
  'the operation %s is denied for an invalid service name right after the floor',
  async (kind) => {
    fixture.change({ ...LOCKED, ...NO_GRANT });
    expect(await fixture.answer({ kind, serviceName: undefined })).toEqual({ code: 'INVALID_SERVICE' });
    expect(fixture.calls).toEqual(['store', 'limiter']);
    expect(fixture.admissions).toMatchObject([{ extraCounters: [] }]);
    const [event] = fixture.events;
    expect(event).toMatchObject({ outcome: 'denied', detail: { code: 'INVALID_SERVICE' } });
    expect(event).not.toHaveProperty('serviceName');
  },
);

it('the operation grants counts as a request, evaluates no policy and writes nothing', async () => {
  const grant = { serviceName: 'a', grantExpiresAt: null, refreshPolicy: 'none', sourceGroupId: null };
  fixture.grants = [grant];
  fixture.change(LOCKED);
  const answer = { outcome: 'grants', caller: CALLER, grants: [grant] };
  expect(await fixture.decide({ kind: 'grants' })).toEqual(answer);
  expect(fixture.calls).toEqual(['store with grants', 'limiter']);
  expect(fixture.admissions).toMatchObject([{ traffic: 'agent_credentials', extraCounters: [] }]);
  expect(fixture.events).toEqual([]);
});

it.each(['agent_credentials', 'mcp_handshake'] as const)(
  'the operation admission is allowed as %s, whatever grant, policy, webhook and lock say',
  async (traffic) => {
    fixture.change({ ...LOCKED, ...NO_GRANT, webhookId: null, agentId: 'agt_2' as Id<'agt'> });
    fixture.policy = CLOSED;
    const answer = { outcome: 'admitted', caller: { ...CALLER, agentId: 'agt_2' } };
    expect(await fixture.decide({ kind: 'admission', traffic }, { channel: 'mcp' })).toEqual(answer);
    expect(fixture.calls).toEqual(['store', 'limiter']);
    expect(fixture.admissions).toMatchObject([{ traffic, callerId: 'agt_2', extraCounters: [] }]);
    expect(fixture.events).toEqual([]);
  },
);
