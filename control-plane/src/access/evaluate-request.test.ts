import type { Id } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { LimiterVerdict } from '../limits/limiter.ts';
import type { PolicyDecision, RateUse } from '../policies/evaluate.ts';
import type { Operation } from './decision.ts';
import { AccessStage, GITHUB } from './staged-access.ts';
import type { LifetimeUse } from '../core/policy.ts';

// What each question looks at, counts and writes down.

const RATE: RateUse = {
  counter: { scope: 'rate_limit', key: 'rul_1 agent agt_1', limit: 5, windowMs: 60_000 },
  denial: { policy: 'slow', rule: 'rate_limit', reason: 'too often' },
};
const USE: LifetimeUse = { ruleId: 'rul_2', targetType: 'agent', targetId: 'agt_1', limit: 9 };
const COUNTED: PolicyDecision = { allowed: true, rates: [RATE], uses: [USE] };
const CLOSED: PolicyDecision = {
  allowed: false,
  policy: 'office hours',
  rule: 'time_window',
  reason: 'outside',
};
const FULL: LimiterVerdict = { allowed: false, scope: 'agent_credentials', retryAfterSeconds: 17 };
const NO_MORE_MISSES: LimiterVerdict = {
  allowed: false,
  scope: 'agent_no_grant',
  key: 'agt_1',
  retryAfterSeconds: 30,
};
const LOCKED = { vaultLockedAt: '2026-11-20T00:00:00.000Z' };
const LAPSED = { grantExpiresAt: '2026-11-20T12:00:00.000Z' };
const NO_GRANT = { grantId: null };
const CALLER = { vaultId: 'vlt_1', agentId: 'agt_1' };

let stage: AccessStage;
beforeEach(() => {
  stage = new AccessStage();
});

/** Of the agent's own misses. */
const MISS = [{ scope: 'agent_no_grant', key: 'agt_1', limit: 10, windowMs: 60_000 }];

describe('credential: policies', () => {
  it('that deny are named, with rule and reason', async () => {
    stage.policy = CLOSED;
    expect(await stage.said(GITHUB)).toEqual({
      code: 'POLICY_DENIED',
      policy: 'office hours',
      rule: 'time_window',
      reason: 'outside',
    });
    expect(stage.events).toMatchObject([
      { outcome: 'denied', detail: { policy: 'office hours', rule: 'time_window' } },
    ]);
  });

  it('have rates counted with the floor, and lifetime uses with the event', async () => {
    stage.policy = COUNTED;
    expect(await stage.said(GITHUB)).toBe('ticket');
    expect(stage.admissions).toMatchObject([{ extraCounters: [RATE.counter] }]);
    expect(stage.preconditions).toMatchObject([{ uses: [USE] }]);
  });

  it('tell when to come back where the rule is a rate, and count no lifetime use', async () => {
    stage.policy = COUNTED;
    stage.admit = { allowed: false, scope: 'rate_limit', key: RATE.counter.key, retryAfterSeconds: 5 };
    expect(await stage.said(GITHUB)).toEqual({
      code: 'POLICY_DENIED',
      ...RATE.denial,
      retryAfterSeconds: 5,
    });
    expect(stage.events).toMatchObject([{ outcome: 'rate_limited', detail: { policy: 'slow' } }]);
    expect(stage.preconditions).toEqual([]);
  });

  it('are not named where the floor refuses, whatever rates there are', async () => {
    stage.policy = COUNTED;
    stage.admit = FULL;
    expect(await stage.said(GITHUB)).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 17 });
  });

  it('have no rate counted of a request that is denied for something else', async () => {
    stage.policy = CLOSED;
    await stage.ask(GITHUB);
    stage.change(LOCKED);
    stage.policy = COUNTED;
    await stage.ask(GITHUB);
    expect(stage.admissions).toMatchObject([{ extraCounters: [] }, { extraCounters: [] }]);
    expect(stage.preconditions).toEqual([]);
  });
});

describe.each([
  ['credential', GITHUB],
  ['grant', { kind: 'grant', serviceName: 'github' }],
] as const)('%s: the grant', (_kind, operation) => {
  it('lapses at its time and not before, and is deleted then', async () => {
    stage.change({ grantExpiresAt: '2026-11-20T12:00:00.001Z' });
    expect(await stage.ask(operation)).not.toMatchObject({ outcome: 'denied' });
    stage.clock.advance(1);
    stage.events.length = 0;
    expect(await stage.said(operation)).toEqual({ code: 'GRANT_EXPIRED' });
    expect(stage.events).toMatchObject([
      { eventType: 'GRANT_EXPIRED', serviceName: 'github' },
      { eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'denied', detail: { code: 'GRANT_EXPIRED' } },
    ]);
  });

  it('that lapsed is NO_GRANT for whoever comes second', async () => {
    stage.change(LAPSED);
    stage.lapsedIsGone = true;
    expect(await stage.said(operation)).toEqual({ code: 'NO_GRANT' });
  });

  it('that is not there is a miss, written down and counted with the request', async () => {
    stage.change(NO_GRANT);
    expect(await stage.said(operation)).toEqual({ code: 'NO_GRANT' });
    expect(stage.events).toMatchObject([{ outcome: 'denied', detail: { code: 'NO_GRANT' } }]);
    expect(stage.admissions).toMatchObject([{ traffic: 'agent_credentials', extraCounters: MISS }]);
  });

  it('is left alone where misses are used up, whether it lapsed or was never there', async () => {
    stage.admit = NO_MORE_MISSES;
    const denial = { code: 'RATE_LIMITED', scope: 'agent_no_grant', retryAfterSeconds: 30 };
    stage.change(LAPSED);
    expect(await stage.said(operation)).toEqual(denial);
    stage.change(NO_GRANT);
    expect(await stage.said(operation)).toEqual(denial);
    expect(stage.admissions).toMatchObject([{ extraCounters: MISS }, { extraCounters: MISS }]);
    expect([stage.events, stage.asked]).toEqual([[], expect.not.arrayContaining(['delete'])]);
  });
});

describe('grant', () => {
  const SHOW: Operation = { kind: 'grant', serviceName: 'github' };

  it('is shown as the list has it, and writes nothing', async () => {
    stage.change({ grantExpiresAt: '2026-11-21T00:00:00.000Z' });
    const grant = {
      serviceName: 'github',
      grantExpiresAt: '2026-11-21T00:00:00.000Z',
      refreshPolicy: 'auto',
      sourceGroupId: 'fld_1',
    };
    expect(await stage.ask(SHOW)).toEqual({ outcome: 'grant', caller: CALLER, grant });
    expect(stage.asked).toEqual(['store', 'limiter']);
    expect([stage.events, stage.preconditions]).toEqual([[], []]);
  });

  it('asks for no policy, no webhook and no open vault', async () => {
    stage.change({ ...LOCKED, webhookId: null });
    stage.policy = CLOSED;
    expect(await stage.said(SHOW)).toBe('grant');
  });

  it('that lapsed is still there when a locked vault has answered', async () => {
    stage.change({ ...LOCKED, ...LAPSED });
    for (let again = 0; again < 2; again++) expect(await stage.said(SHOW)).toEqual({ code: 'GRANT_EXPIRED' });
    expect(stage.asked).not.toContain('delete');
    expect(stage.events).toMatchObject([
      { eventType: 'AGENT_CREDENTIAL_ACCESS', detail: { code: 'GRANT_EXPIRED' } },
      { eventType: 'AGENT_CREDENTIAL_ACCESS', detail: { code: 'GRANT_EXPIRED' } },
    ]);
  });
});

describe('history', () => {
  const HISTORY: Operation = { kind: 'history', serviceName: 'github' };

  it('counts against a limit of its own, in the step of the floor', async () => {
    expect(await stage.ask(HISTORY)).toEqual({ outcome: 'admitted', caller: CALLER });
    expect(stage.admissions).toMatchObject([
      {
        traffic: 'agent_credentials',
        extraCounters: [{ scope: 'credential_history', key: 'agt_1', limit: 20, windowMs: 60_000 }],
      },
    ]);
  });

  it('needs no grant, no policy, no webhook and no open vault, and writes nothing', async () => {
    stage.change({ ...LOCKED, ...NO_GRANT, webhookId: null });
    stage.policy = CLOSED;
    expect(await stage.said(HISTORY)).toBe('admitted');
    expect([stage.asked, stage.events]).toEqual([['store', 'limiter'], []]);
  });

  it('past its own limit is no strike and no miss, and said by its scope', async () => {
    stage.admit = { allowed: false, scope: 'credential_history', key: 'agt_1', retryAfterSeconds: 9 };
    expect(await stage.said(HISTORY)).toEqual({
      code: 'RATE_LIMITED',
      scope: 'credential_history',
      retryAfterSeconds: 9,
    });
  });
});

it.each(['credential', 'grant', 'history'] as const)(
  '%s: a name that is none is refused behind the floor, and before anything else is looked at',
  async (kind) => {
    stage.change({ ...LOCKED, ...NO_GRANT });
    expect(await stage.said({ kind, serviceName: undefined })).toEqual({ code: 'INVALID_SERVICE' });
    expect(stage.asked).toEqual(['store', 'limiter']);
    expect(stage.admissions).toMatchObject([{ extraCounters: [] }]);
    const [event] = stage.events;
    expect(event).toMatchObject({ outcome: 'denied', detail: { code: 'INVALID_SERVICE' } });
    expect(event).not.toHaveProperty('serviceName');
  },
);

describe('grants', () => {
  it('are counted as a request, evaluate no policy and write nothing', async () => {
    const grant = { serviceName: 'a', grantExpiresAt: null, refreshPolicy: 'none', sourceGroupId: null };
    stage.grants = [grant];
    stage.change(LOCKED);
    expect(await stage.ask({ kind: 'grants' })).toEqual({
      outcome: 'grants',
      caller: CALLER,
      grants: [grant],
    });
    expect(stage.asked).toEqual(['store with grants', 'limiter']);
    expect(stage.admissions).toMatchObject([{ traffic: 'agent_credentials', extraCounters: [] }]);
    expect(stage.events).toEqual([]);
  });
});

describe('admission', () => {
  it.each(['agent_credentials', 'mcp_handshake'] as const)(
    'is let through as %s, whatever else there is',
    async (traffic) => {
      stage.change({ ...LOCKED, ...NO_GRANT, webhookId: null, agentId: 'agt_2' as Id<'agt'> });
      stage.policy = CLOSED;
      expect(await stage.ask({ kind: 'admission', traffic }, { channel: 'mcp' })).toEqual({
        outcome: 'admitted',
        caller: { vaultId: 'vlt_1', agentId: 'agt_2' },
      });
      expect(stage.asked).toEqual(['store', 'limiter']);
      expect(stage.admissions).toMatchObject([{ traffic, callerId: 'agt_2', extraCounters: [] }]);
      expect(stage.events).toEqual([]);
    },
  );
});
