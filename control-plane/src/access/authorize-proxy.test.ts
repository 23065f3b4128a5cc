import { type Id, ManualClock } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { AccessPrecondition } from '../audit/audit-writer.ts';
import { createDenialCounter } from '../audit/denial-counter.ts';
import type { Admission, LimiterVerdict } from '../limits/limiter.ts';
import { createLimits } from '../limits/limits.ts';
import type { PolicyDecision } from '../policies/evaluate.ts';
import { createBodyMemory, createOpenStreams } from './concurrency-limits.ts';
import { createProxyAccess } from './authorize-proxy.ts';
import { createSessionIds } from './session-ids.ts';
import type { ProxyAccess, ProxyDecision } from './decision.ts';
import type { ProxySubject } from './subject.ts';

// The pipeline with everything beside it played; what it is at a service: control-plane/test/proxy-*.test.ts.

const OPEN: LimiterVerdict = { allowed: true };
const FREE: PolicyDecision = { allowed: true, rates: [], uses: [] };
const RATE = {
  counter: { scope: 'rate_limit', key: 'rul_1 proxy prx_1', limit: 5, windowMs: 60_000 },
  denial: { policy: 'slow', rule: 'rate_limit', reason: 'too often' },
} as const;
const SUBJECT: ProxySubject = {
  proxyId: 'prx_1' as Id<'prx'>,
  vaultId: 'vlt_1' as Id<'vlt'>,
  upstreamAuthType: 'Token',
  upstreamUrl: 'https://mcp.example.com/mcp',
  serviceName: 'github',
  headerTemplates: '{"authorization":"Bearer ${TOKEN}"}',
  revision: 3,
  deliveredAs: null,
  credentialRejected: null,
  agentId: null,
  agentStatus: null,
  lastUsedAt: null,
  vaultLockedAt: null,
  activeAgents: 1,
  proxies: 1,
  policies: null,
  policyUsage: null,
  accountRevision: 7,
  webhookId: 'whk_1',
  webhookUrl: 'https://vault.example.org',
  keyId: 'k1',
  keyWrapped: 'wrapped',
};

let subject: ProxySubject | undefined;
let admit: LimiterVerdict;
let policy: PolicyDecision;
/** Happens instead of the write of a use, once. */
let meanwhile: (() => void) | undefined;
let asked: string[];
let admissions: Admission[];
let preconditions: AccessPrecondition[];
let events: NewAuditEvent[];
let access: ProxyAccess;

beforeEach(() => {
  [subject, admit, policy, meanwhile] = [SUBJECT, OPEN, FREE, undefined];
  [asked, admissions, preconditions, events] = [[], [], [], []];
  const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
  const audit: Parameters<typeof createProxyAccess>[0]['audit'] = {
    record: async (event, options = {}) => {
      if (options.onlyIf !== undefined) preconditions.push(options.onlyIf);
      const change = meanwhile;
      meanwhile = undefined;
      if (change !== undefined) return (change(), false);
      events.push(event);
      return true;
    },
  };
  access = createProxyAccess({
    sessionIds: createSessionIds(new Uint8Array(32)),
    store: { find: () => (asked.push('store'), subject) },
    limiter: {
      admit: (admission) => (asked.push('limiter'), admissions.push(admission), admit),
      take: ({ key }) => (asked.push(`take ${key}`), OPEN),
      lockouts: () => [],
    },
    limits: createLimits({}),
    policies: { evaluate: () => (asked.push('policies'), policy) },
    audit,
    denials: createDenialCounter({ audit, clock }),
    offlineForSeconds: () => (asked.push('offline'), 0),
    streams: createOpenStreams({ maxPerProxy: 1 }),
    bodies: createBodyMemory({ maxBytes: 100, maxBytesPerAccount: 100 }),
    clock,
  });
});

const change = (members: Partial<ProxySubject>): void => {
  subject = { ...SUBJECT, ...members };
};
const decide = (keyHash: string | undefined = 'hash'): Promise<ProxyDecision> =>
  access.decide({ keyHash, traffic: 'mcp_handshake', fields: [], sourceAddress: '192.0.2.1' });
const said = async (): Promise<unknown> => {
  const decision = await decide();
  return decision.outcome === 'denied' ? decision.denial : decision.outcome;
};

describe('a use', () => {
  it('requires the revision that the decision read, and is written before it is given', async () => {
    const decision = await decide();
    expect(decision).toMatchObject({
      outcome: 'use',
      use: {
        kind: 'webhook',
        webhook: { webhookId: 'whk_1' },
        config: { serviceName: 'github', revision: 3 },
      },
    });
    expect(preconditions).toEqual([{ accountRevision: 7, expiresAt: null, uses: [] }]);
    expect(events).toEqual([
      expect.objectContaining({ eventType: 'PROXY_CREDENTIAL_USE', outcome: 'success', proxyId: 'prx_1' }),
    ]);
    expect(asked).toEqual(['store', 'policies', 'limiter', 'offline']);
    expect(admissions).toMatchObject([{ callerId: 'prx_1', traffic: 'mcp_handshake', extraCounters: [] }]);
  });

  it('of sessions needs no webhook, and asks for none', async () => {
    const ours = { upstreamAuthType: 'sv_session', serviceName: null, headerTemplates: null } as const;
    change({ ...ours, agentId: 'agt_1' as Id<'agt'>, agentStatus: 'active', webhookId: null });
    expect(await decide()).toMatchObject({ use: { kind: 'session', proxy: { agentId: 'agt_1' } } });
    expect(asked).not.toContain('offline');
  });

  it('takes a place, which comes back with its end', async () => {
    const first = await decide();
    expect(await said()).toEqual({ code: 'RATE_LIMITED', scope: 'open_streams', retryAfterSeconds: 1 });
    expect(preconditions).toHaveLength(1);
    if (first.outcome === 'use') first.stream.close();
    expect(await said()).toBe('use');
  });

  it('takes none where the log does not take it', async () => {
    meanwhile = () => {
      throw new Error('the disk is full');
    };
    await expect(decide()).rejects.toThrow('the disk is full');
    expect(await said()).toBe('use');
  });
});

describe('what is withdrawn before it is written', () => {
  it.each<readonly [string, Partial<ProxySubject>]>([
    ['VAULT_LOCKED', { vaultLockedAt: '2026-11-20T12:00:00.000Z' }],
    ['AGENT_INACTIVE', { agentId: 'agt_1' as Id<'agt'>, agentStatus: 'suspended' }],
    ['WEBHOOK_NOT_CONFIGURED', { webhookId: null }],
  ])('is answered %s, counted once, and leaves no place taken', async (code, members) => {
    meanwhile = () => change(members);
    expect(await said()).toEqual({ code });
    expect(events).toMatchObject([{ outcome: expect.not.stringMatching('success'), detail: { code } }]);
    expect(admissions).toHaveLength(1);
    subject = SUBJECT;
    expect(await said()).toBe('use');
  });

  it('is INVALID_KEY where the key is nobody’s any more', async () => {
    meanwhile = () => (subject = undefined);
    expect([await said(), events]).toEqual([{ code: 'INVALID_KEY' }, []]);
  });

  it('counts against a rate that came meanwhile, once', async () => {
    meanwhile = () => (policy = { allowed: true, rates: [RATE], uses: [] });
    expect(await said()).toBe('use');
    expect(asked.filter((each) => each.startsWith('take'))).toEqual(['take rul_1 proxy prx_1']);
  });
});

it('a rate that has no room is its policy’s denial, any other limit a limiter’s', async () => {
  policy = { allowed: true, rates: [RATE], uses: [] };
  const refused = { allowed: false, retryAfterSeconds: 9 } as const;
  admit = { ...refused, scope: 'rate_limit', key: RATE.counter.key };
  expect(await said()).toEqual({ code: 'POLICY_DENIED', ...RATE.denial, retryAfterSeconds: 9 });
  admit = { ...refused, scope: 'proxy_mcp' };
  expect(await said()).toEqual({ code: 'RATE_LIMITED', scope: 'proxy_mcp', retryAfterSeconds: 9 });
});

describe('a large body', () => {
  it('is let in for a known key alone, with a place and without being counted', async () => {
    const admittance = await access.admit('hash', 60);
    expect([admittance.outcome, asked]).toEqual(['admitted', ['store']]);
    expect(await access.admit('hash', 60)).toMatchObject({ denial: { scope: 'open_streams' } });
    if (admittance.outcome === 'admitted') admittance.stream.close();
    // What is there of the first one is still held.
    expect(await access.admit('hash', 60)).toMatchObject({ denial: { scope: 'large_bodies' } });
    expect(await access.admit('hash', 40)).toMatchObject({ outcome: 'admitted' });
    subject = undefined;
    expect(await access.admit('hash', 60)).toMatchObject({ denial: { code: 'INVALID_KEY' } });
    change({ agentId: 'agt_1' as Id<'agt'>, agentStatus: 'deleted' });
    expect(await access.admit('hash', 60)).toMatchObject({ denial: { code: 'AGENT_INACTIVE' } });
  });
});

it('what cannot be a key asks nobody', async () => {
  expect(
    await access.decide({ keyHash: undefined, traffic: 'proxy_mcp', fields: [], sourceAddress: undefined }),
  ).toMatchObject({
    denial: { code: 'INVALID_KEY' },
  });
  expect(asked).toEqual([]);
});
