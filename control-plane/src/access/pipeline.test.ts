import { type Id, ManualClock, hashKey, isServiceName, newKey } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { NewAuditEvent } from '../audit/audit-event.ts';
import type { AuditWriter, StandingAccess } from '../audit/audit-writer.ts';
import { createDenialCounter } from '../audit/denial-counter.ts';
import type { Admission, LimiterVerdict } from '../limits/limiter.ts';
import { createLimits } from '../limits/limits.ts';
import type { LifetimeUse, PolicyVerdict, RateUse } from '../policies/policy-verdict.ts';
import type { Access } from './access.ts';
import type { AccessSubject } from './access-store.ts';
import { agentKeyCredential } from './agent-credential.ts';
import { createAccess } from './pipeline.ts';

// The order of answers, and what limits and policies are asked and told: at their interfaces.

const KEY = newKey('svagent');
const NOW = Date.parse('2026-11-20T12:00:00Z');
const BLOCKED: LimiterVerdict = { allowed: false, scope: 'agent_credentials', retryAfterSeconds: 17 };
const FREE: PolicyVerdict = { allowed: true, rates: [], uses: [] };
const RATE: RateUse = {
  counter: { scope: 'rate_limit', key: 'rul_1 agent agt_1', limit: 5, windowMs: 60_000 },
  denial: { policy: 'slow', rule: 'rate_limit', reason: 'too often' },
};
const USE: LifetimeUse = { ruleId: 'rul_2', targetType: 'agent', targetId: 'agt_1', limit: 9 };
const RATE_IS_FULL: LimiterVerdict = {
  allowed: false,
  scope: 'rate_limit',
  key: RATE.counter.key,
  retryAfterSeconds: 5,
};

let clock: ManualClock;
let subject: AccessSubject;
let admit: LimiterVerdict;
/** What a counter alone says. */
let take: LimiterVerdict;
let admissions: Admission[];
let provided: StandingAccess[];
let policy: PolicyVerdict;
let offline: number;
/** Happens after an access was decided and before it is written down. */
let meanwhile: (() => void) | undefined;
let asked: string[];
let events: NewAuditEvent[];
let deleted: boolean;
let flush: () => Promise<void>;
let access: Access;

beforeEach(() => {
  clock = new ManualClock(NOW);
  subject = {
    agentId: 'agt_1' as Id<'agt'>,
    vaultId: 'vlt_1' as Id<'vlt'>,
    status: 'active',
    mcpEnabled: 0,
    lastUsedAt: null,
    sealingKeyThumbprint: null,
    vaultLockedAt: null,
    activeAgents: 1,
    proxies: 0,
    policies: null,
    policyUsage: null,
    policyRevision: 7,
    grantId: 'grt_1' as Id<'grt'>,
    grantExpiresAt: null,
    refreshPolicy: 'none',
    sourceGroupId: null,
    webhookId: 'whk_1',
    webhookUrl: 'https://vault.example.org',
    keyId: 'k1',
    keyWrapped: 'wrapped',
  };
  admit = take = { allowed: true };
  admissions = [];
  provided = [];
  policy = FREE;
  offline = 0;
  meanwhile = undefined;
  asked = [];
  events = [];
  deleted = true;
  const audit: AuditWriter = {
    record: async (event, options = {}) => {
      if (options.provided !== undefined) {
        provided.push(options.provided);
        const change = meanwhile;
        meanwhile = undefined;
        if (change !== undefined) return (change(), false);
      }
      events.push(event);
      return true;
    },
  };
  const denials = createDenialCounter({ audit, clock });
  flush = () => denials.flush(true);
  access = createAccess({
    store: {
      find: ({ hash }) => (asked.push('store'), hash === hashKey(KEY) ? subject : undefined),
      findWithGrants: () => (asked.push('store with grants'), { ...subject, grants: [] }),
    },
    limiter: {
      admit: (admission) => (asked.push('limiter'), admissions.push(admission), admit),
      take: ({ key }) => (asked.push(`take ${key}`), take),
      lockouts: () => [],
    },
    limits: createLimits({}),
    policies: { evaluate: () => (asked.push('policies'), policy) },
    audit,
    denials,
    expiredGrants: {
      remove: async (_subject, written) => {
        if (deleted) events.push(...written);
        return deleted;
      },
    },
    offlineForSeconds: () => (asked.push('offline'), offline),
    issueCredentialUrl: () => (asked.push('ticket'), { url: 'https://x', expiresAt: NOW }),
    clock,
  });
});

const ask = (service = 'github', key = KEY) =>
  access.decide({
    credential: agentKeyCredential(key),
    door: 'rest',
    question: { kind: 'credential', serviceName: isServiceName(service) ? service : undefined },
    sourceAddress: '192.0.2.1',
  });

const denialOf = async (...parameters: Parameters<typeof ask>) => {
  const decision = await ask(...parameters);
  return decision.outcome === 'denied' ? decision.denial : undefined;
};

describe('the order of answers', () => {
  it('looks at grant and policies before it asks the limiter once, and issues the ticket last', async () => {
    expect(await ask()).toMatchObject({ outcome: 'ticket' });
    expect(asked).toEqual(['store', 'policies', 'limiter', 'offline', 'ticket']);
    expect(events).toMatchObject([{ outcome: 'success', serviceName: 'github', agentId: 'agt_1' }]);
  });

  it('says first what comes first, when everything is wrong at once', async () => {
    subject = {
      ...subject,
      status: 'suspended',
      vaultLockedAt: '2026-11-20T00:00:00.000Z',
      grantId: null,
      webhookId: null,
    };
    admit = BLOCKED;
    policy = { allowed: false, policy: 'p', rule: 'time_window', reason: 'closed' };
    offline = 9;
    const codes: (string | undefined)[] = [];
    const step = async (service: string, change: () => void): Promise<void> => {
      codes.push((await denialOf(service))?.code);
      change();
    };
    codes.push((await denialOf('a/b', newKey('svagent')))?.code);
    await step('a/b', () => (subject = { ...subject, status: 'active' }));
    await step('a/b', () => (admit = { allowed: true }));
    await step('a/b', () => undefined);
    await step('github', () => (subject = { ...subject, vaultLockedAt: null }));
    await step('github', () => (subject = { ...subject, grantId: 'grt_1' as Id<'grt'> }));
    await step('github', () => (policy = FREE));
    await step('github', () => (subject = { ...subject, webhookId: 'whk_1' }));
    await step('github', () => undefined);
    expect(codes).toEqual([
      'INVALID_KEY',
      'AGENT_INACTIVE',
      'RATE_LIMITED',
      'INVALID_SERVICE',
      'VAULT_LOCKED',
      'NO_GRANT',
      'POLICY_DENIED',
      'WEBHOOK_NOT_CONFIGURED',
      'WEBHOOK_UNAVAILABLE',
    ]);
  });

  it('looks a malformed key up nowhere', async () => {
    expect(await denialOf('github', 'svagent_short')).toEqual({ code: 'INVALID_KEY' });
    expect(asked).toEqual([]);
    expect(events).toEqual([]);
  });

  it('counts a request for the list, and evaluates no policy for it', async () => {
    const list = { credential: agentKeyCredential(KEY), door: 'rest', question: { kind: 'grants' } } as const;
    expect(await access.decide({ ...list, sourceAddress: undefined })).toEqual({
      outcome: 'grants',
      caller: { vaultId: 'vlt_1', agentId: 'agt_1' },
      grants: [],
    });
    expect(asked).toEqual(['store with grants', 'limiter']);
  });
});

describe('limits', () => {
  it('names caller, traffic and ceiling', async () => {
    subject = { ...subject, activeAgents: 34, proxies: 1 };
    await ask();
    expect(admissions).toEqual([
      {
        vaultId: 'vlt_1',
        callerId: 'agt_1',
        traffic: 'agent_credentials',
        aggregateLimit: 3_000,
        further: [],
      },
    ]);
  });

  it('answers a limiter denial with its time, and writes one event per minute with its count', async () => {
    admit = BLOCKED;
    for (let tries = 0; tries < 3; tries++)
      expect(await denialOf()).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 17 });
    expect(events).toEqual([]);
    await flush();
    expect(events).toMatchObject([{ outcome: 'rate_limited', count: 3, detail: { code: 'RATE_LIMITED' } }]);
  });

  it('counts a miss with the request, and leaves a lapsed grant alone where misses are used up', async () => {
    admit = { allowed: false, scope: 'agent_no_grant', key: 'agt_1', retryAfterSeconds: 30 };
    subject = { ...subject, grantExpiresAt: '2026-11-20T12:00:00.000Z' };
    expect(await denialOf()).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 30 });
    expect(events).toEqual([]);
    subject = { ...subject, grantId: null };
    expect(await denialOf()).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 30 });
    for (const { further } of admissions)
      expect(further).toMatchObject([{ scope: 'agent_no_grant', key: 'agt_1', limit: 10 }]);
  });
});

describe('policies', () => {
  it('names policy, rule and reason', async () => {
    policy = { allowed: false, policy: 'office hours', rule: 'time_window', reason: 'outside' };
    expect(await denialOf()).toEqual({
      code: 'POLICY_DENIED',
      policy: 'office hours',
      rule: 'time_window',
      reason: 'outside',
    });
    expect(events).toMatchObject([
      { outcome: 'denied', detail: { policy: 'office hours', rule: 'time_window' } },
    ]);
  });

  it('has rates counted with the floor, and lifetime uses with the event', async () => {
    policy = { allowed: true, rates: [RATE], uses: [USE] };
    expect(await ask()).toMatchObject({ outcome: 'ticket' });
    expect(admissions).toMatchObject([{ further: [RATE.counter] }]);
    expect(provided).toMatchObject([{ uses: [USE], policyRevision: 7, grantId: 'grt_1' }]);
  });

  it('tells when to come back where the rule is a rate, and counts no lifetime use', async () => {
    policy = { allowed: true, rates: [RATE], uses: [USE] };
    admit = RATE_IS_FULL;
    expect(await denialOf()).toEqual({ code: 'POLICY_DENIED', ...RATE.denial, retryAfterSeconds: 5 });
    expect(events).toMatchObject([{ outcome: 'rate_limited', detail: { policy: 'slow' } }]);
    expect(provided).toEqual([]);
  });

  it('is not named where the floor refuses, whatever rates there are', async () => {
    policy = { allowed: true, rates: [RATE], uses: [] };
    admit = BLOCKED;
    expect(await denialOf()).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 17 });
  });

  it('counts no rate of a request that is denied for something else', async () => {
    policy = { allowed: false, policy: 'p', rule: 'time_window', reason: 'closed' };
    await ask();
    subject = { ...subject, vaultLockedAt: '2026-11-20T00:00:00.000Z' };
    policy = { allowed: true, rates: [RATE], uses: [USE] };
    await ask();
    expect(admissions).toMatchObject([{ further: [] }, { further: [] }]);
    expect(provided).toEqual([]);
  });
});

describe('grants', () => {
  it('lapses at its time and not before', async () => {
    subject = { ...subject, grantExpiresAt: '2026-11-20T12:00:00.001Z' };
    expect(await ask()).toMatchObject({ outcome: 'ticket' });
    clock.advance(1);
    expect(await denialOf()).toEqual({ code: 'GRANT_EXPIRED' });
    expect(events.slice(1)).toMatchObject([
      { eventType: 'GRANT_EXPIRED' },
      { eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'denied' },
    ]);
  });

  it('is NO_GRANT for whoever comes second', async () => {
    subject = { ...subject, grantExpiresAt: '2026-11-20T12:00:00.000Z' };
    deleted = false;
    expect(await denialOf()).toEqual({ code: 'NO_GRANT' });
  });
});

describe('an access that is withdrawn before it is written down', () => {
  const withdrawals: readonly (readonly [string, Partial<AccessSubject>])[] = [
    ['AGENT_INACTIVE', { status: 'suspended' }],
    ['VAULT_LOCKED', { vaultLockedAt: '2026-11-20T12:00:00.000Z' }],
    ['NO_GRANT', { grantId: null }],
    ['WEBHOOK_NOT_CONFIGURED', { webhookId: null }],
  ];
  it.each(withdrawals)('is answered %s, with no ticket and no success in the log', async (code, change) => {
    meanwhile = () => (subject = { ...subject, ...change });
    expect(await denialOf()).toEqual({ code });
    expect(events).toMatchObject([{ detail: { code } }]);
    expect(asked).not.toContain('ticket');
    expect(admissions).toHaveLength(1);
  });

  it('is a denial of the rule whose last use went to another request', async () => {
    policy = { allowed: true, rates: [RATE], uses: [USE] };
    meanwhile = () => (policy = { allowed: false, policy: 'p', rule: 'max_usage', reason: 'used up' });
    expect(await denialOf()).toMatchObject({ code: 'POLICY_DENIED', rule: 'max_usage' });
    expect(asked).not.toContain('ticket');
  });

  it('is counted as a miss only then, and limited as one', async () => {
    meanwhile = () => (subject = { ...subject, grantId: null });
    take = { allowed: false, scope: 'agent_no_grant', retryAfterSeconds: 30 };
    expect(await denialOf()).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 30 });
    expect(asked).toContain('take agt_1');
  });

  it('is decided anew where it was given again at once, and rests on the new grant', async () => {
    meanwhile = () => (subject = { ...subject, grantId: 'grt_2' as Id<'grt'> });
    expect(await ask()).toMatchObject({ outcome: 'ticket' });
    expect(provided.map(({ grantId }) => grantId)).toEqual(['grt_1', 'grt_2']);
    expect(events).toMatchObject([{ outcome: 'success' }]);
    expect(admissions).toHaveLength(1);
  });

  it('counts against a rate that was attached meanwhile, and not again against the one before', async () => {
    policy = { allowed: true, rates: [RATE], uses: [] };
    const attached: RateUse = { ...RATE, counter: { ...RATE.counter, key: 'rul_9 agent agt_1' } };
    meanwhile = () => (policy = { allowed: true, rates: [RATE, attached], uses: [] });
    expect(await ask()).toMatchObject({ outcome: 'ticket' });
    expect(asked.filter((what) => what.startsWith('take'))).toEqual(['take rul_9 agent agt_1']);

    policy = { allowed: true, rates: [], uses: [] };
    meanwhile = () => (policy = { allowed: true, rates: [attached], uses: [] });
    take = { allowed: false, scope: 'rate_limit', retryAfterSeconds: 4 };
    expect(await denialOf()).toEqual({ code: 'POLICY_DENIED', ...RATE.denial, retryAfterSeconds: 4 });
  });

  it('gives up where it keeps changing', async () => {
    const change = (): void => {
      subject = { ...subject, policyRevision: subject.policyRevision + 1 };
      meanwhile = change;
    };
    meanwhile = change;
    await expect(ask()).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE', details: { retryAfter: 1 } });
    expect(events).toEqual([]);
    expect(provided).toHaveLength(3);
  });
});
