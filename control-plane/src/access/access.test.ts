import { type Id, ManualClock, hashKey, newKey } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { NewAuditEvent } from '../audit/audit-event.ts';
import type { AuditWriter } from '../audit/audit-writer.ts';
import { createDenialCounter } from '../audit/denial-counter.ts';
import type { LimiterVerdict } from '../limits/limiter.ts';
import type { PolicyVerdict } from '../policies/policy-evaluator.ts';
import { type Access, createAccess } from './access.ts';
import type { AccessSubject } from './access-store.ts';

// The order of answers, and the rows of the error table that limits and policies will give: at their interfaces.

const KEY = newKey('svagent');
const NOW = Date.parse('2026-11-20T12:00:00Z');
const BLOCKED: LimiterVerdict = { allowed: false, scope: 'agent_credentials', retryAfterSeconds: 17 };

let clock: ManualClock;
let subject: AccessSubject;
let admit: LimiterVerdict;
let admitMiss: LimiterVerdict;
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
    lastUsedAt: null,
    sealingKeyThumbprint: null,
    vaultLockedAt: null,
    grantId: 'grt_1' as Id<'grt'>,
    grantExpiresAt: null,
    refreshPolicy: 'none',
    webhookId: 'whk_1',
    webhookUrl: 'https://vault.example.org',
    keyId: 'k1',
    keyWrapped: 'wrapped',
  };
  admit = admitMiss = { allowed: true };
  policy = { allowed: true };
  offline = 0;
  meanwhile = undefined;
  asked = [];
  events = [];
  deleted = true;
  const audit: AuditWriter = {
    record: async (event, { provided } = {}) => {
      if (provided !== undefined && meanwhile !== undefined) return (meanwhile(), false);
      events.push(event);
      return true;
    },
  };
  const denials = createDenialCounter({ audit, clock });
  flush = () => denials.flush(true);
  access = createAccess({
    store: {
      findByKeyHash: (hash) => (asked.push('store'), hash === hashKey(KEY) ? subject : undefined),
      liveGrants: () => (asked.push('grants'), []),
    },
    limiter: {
      admit: () => (asked.push('limiter'), admit),
      admitMiss: () => (asked.push('miss'), admitMiss),
    },
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

const ask = (service: string | undefined = 'github', key: string | undefined = KEY) =>
  access.decide({ key, services: service === undefined ? [] : [service], sourceAddress: '192.0.2.1' });

const denialOf = async (...parameters: Parameters<typeof ask>) => {
  const decision = await ask(...parameters);
  return decision.outcome === 'denied' ? decision.denial : undefined;
};

describe('the order of answers', () => {
  it('asks everything in the order of the contract and issues the ticket last', async () => {
    expect(await ask()).toMatchObject({ outcome: 'ticket' });
    expect(asked).toEqual(['store', 'limiter', 'policies', 'offline', 'ticket']);
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
    admit = admitMiss = BLOCKED;
    policy = { allowed: false, policy: 'p', rule: 'time_window', reason: 'closed' };
    offline = 9;
    const codes: (string | undefined)[] = [];
    const step = async (service: string, change: () => void): Promise<void> => {
      codes.push((await denialOf(service))?.code);
      change();
    };
    codes.push(
      (await access.decide({ key: undefined, services: ['a/b'], sourceAddress: undefined })).outcome,
    );
    codes.push((await denialOf('a/b', newKey('svagent')))?.code);
    await step('a/b', () => (subject = { ...subject, status: 'active' }));
    await step('a/b', () => (admit = { allowed: true }));
    await step('a/b', () => undefined);
    await step('github', () => (subject = { ...subject, vaultLockedAt: null }));
    await step('github', () => (admitMiss = { allowed: true }));
    await step('github', () => (subject = { ...subject, grantId: 'grt_1' as Id<'grt'> }));
    await step('github', () => (policy = { allowed: true }));
    await step('github', () => (subject = { ...subject, webhookId: 'whk_1' }));
    await step('github', () => undefined);
    expect(codes).toEqual([
      'denied',
      'INVALID_KEY',
      'AGENT_INACTIVE',
      'RATE_LIMITED',
      'INVALID_SERVICE',
      'VAULT_LOCKED',
      'RATE_LIMITED',
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
    expect(await access.decide({ key: KEY, services: [], sourceAddress: undefined })).toEqual({
      outcome: 'grants',
      grants: [],
    });
    expect(asked).toEqual(['store', 'limiter', 'grants']);
  });
});

describe('limits', () => {
  it('answers a limiter denial with its time, and writes one event per minute with its count', async () => {
    admit = BLOCKED;
    for (let tries = 0; tries < 3; tries++)
      expect(await denialOf()).toEqual({ code: 'RATE_LIMITED', retryAfterSeconds: 17 });
    expect(events).toEqual([]);
    await flush();
    expect(events).toMatchObject([{ outcome: 'rate_limited', count: 3, detail: { code: 'RATE_LIMITED' } }]);
  });

  it('limits misses, with and without a lapsed grant, and leaves a lapsed grant alone then', async () => {
    admitMiss = { allowed: false, scope: 'agent_no_grant', retryAfterSeconds: 30 };
    subject = { ...subject, grantExpiresAt: '2026-11-20T12:00:00.000Z' };
    expect(await denialOf()).toEqual({ code: 'RATE_LIMITED', retryAfterSeconds: 30 });
    expect(events).toEqual([]);
    subject = { ...subject, grantId: null };
    expect(await denialOf()).toEqual({ code: 'RATE_LIMITED', retryAfterSeconds: 30 });
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

  it('tells when to come back where the rule is a rate', async () => {
    policy = {
      allowed: false,
      policy: 'slow',
      rule: 'rate_limit',
      reason: 'too often',
      retryAfterSeconds: 5,
    };
    expect(await denialOf()).toMatchObject({ code: 'POLICY_DENIED', retryAfterSeconds: 5 });
    expect(events).toMatchObject([{ outcome: 'rate_limited' }]);
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
    expect(asked.filter((what) => what === 'limiter' || what === 'policies')).toHaveLength(2);
  });

  it('is asked for again where it was given again at once, and the new grant stays', async () => {
    meanwhile = () => (subject = { ...subject, grantId: 'grt_2' as Id<'grt'> });
    await expect(ask()).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE', details: { retryAfter: 1 } });
    expect(events).toEqual([]);
  });
});
