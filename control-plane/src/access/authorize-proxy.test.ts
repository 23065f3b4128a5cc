import type { Id } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import { ORIGIN, PROXY, ProxyFixture, rateOf } from './access-fixture.ts';
import type { ProxySubject } from './subject.ts';

const RATE = rateOf('rul_1', 'proxy prx_1');
const agentId = 'agt_1' as Id<'agt'>;

let fixture: ProxyFixture;
beforeEach(() => {
  fixture = new ProxyFixture();
});

describe('a use', () => {
  it('requires the account revision of the decision, and is recorded before it is allowed', async () => {
    expect(await fixture.decide()).toMatchObject({
      outcome: 'use',
      use: {
        kind: 'webhook',
        webhook: { webhookId: 'whk_1' },
        config: { serviceName: 'github', revision: 3 },
      },
    });
    expect(fixture.preconditions).toEqual([{ accountRevision: 7, expiresAt: null, uses: [] }]);
    expect(fixture.events).toEqual([
      expect.objectContaining({ eventType: 'PROXY_CREDENTIAL_USE', outcome: 'success', proxyId: 'prx_1' }),
    ]);
    expect(fixture.calls).toEqual(['store', 'policies', 'limiter', 'offline']);
    expect(fixture.admissions).toMatchObject([
      { callerId: 'prx_1', traffic: 'mcp_handshake', extraCounters: [] },
    ]);
  });

  it('of a session needs no webhook', async () => {
    const session = { upstreamAuthType: 'sv_session', serviceName: null, headerTemplates: null } as const;
    fixture.change({ ...session, agentId, agentStatus: 'active', webhookId: null });
    expect(await fixture.decide()).toMatchObject({ use: { kind: 'session', proxy: { agentId } } });
    expect(fixture.calls).not.toContain('offline');
  });

  it('takes a stream until it is closed', async () => {
    const first = await fixture.decide();
    const denial = { code: 'RATE_LIMITED', scope: 'open_streams', retryAfterSeconds: 1 };
    expect(await fixture.answer()).toEqual(denial);
    expect(fixture.preconditions).toHaveLength(1);
    if (first.outcome === 'use') first.stream.close();
    expect(await fixture.answer()).toBe('use');
  });

  it('takes no stream where it cannot be recorded', async () => {
    fixture.meanwhile = () => {
      throw new Error('the disk is full');
    };
    await expect(fixture.decide()).rejects.toThrow('the disk is full');
    expect(await fixture.answer()).toBe('use');
  });
});

describe('a use that policies filter', () => {
  const read = { method: 'POST', path: '/mcp', tool: 'get_issue' };
  beforeEach(() => {
    fixture.filters = true;
  });

  it('is read only once the limits have let it through, and is recorded with what was read', async () => {
    fixture.policy = { allowed: true, rates: [RATE], uses: [], request: read };
    expect(await fixture.answer()).toBe('use');
    expect(fixture.calls).toEqual(['store', 'limiter', 'policies', `take ${RATE.counter.key}`, 'offline']);
    expect(fixture.events).toMatchObject([{ outcome: 'success', detail: read }]);
  });

  it('is not read where a limit denies it', async () => {
    fixture.admit = { allowed: false, scope: 'proxy_mcp', retryAfterSeconds: 17 };
    expect(await fixture.answer()).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 17 });
    expect(fixture.calls).not.toContain('policies');
  });

  it('is denied with an event that has what was read, and the policy and rule', async () => {
    const denial = { policy: 'reads only', rule: 'request_filter', reason: 'not this' } as const;
    fixture.policy = { allowed: false, ...denial, request: { method: 'POST', cause: 'rule' } };
    expect(await fixture.answer()).toMatchObject({ code: 'POLICY_DENIED', ...denial });
    const { policy, rule } = denial;
    expect(fixture.events).toMatchObject([
      { outcome: 'denied', detail: { code: 'POLICY_DENIED', policy, rule, method: 'POST', cause: 'rule' } },
    ]);
  });
});

describe('a use whose account changes before it is recorded', () => {
  it.each<readonly [string, Partial<ProxySubject>]>([
    ['VAULT_LOCKED', { vaultLockedAt: '2026-11-20T12:00:00.000Z' }],
    ['AGENT_INACTIVE', { agentId, agentStatus: 'suspended' }],
    ['WEBHOOK_NOT_CONFIGURED', { webhookId: null }],
  ])('is denied with %s, counted once, and takes no stream', async (code, change) => {
    fixture.meanwhile = () => fixture.change(change);
    expect(await fixture.answer()).toEqual({ code });
    expect(fixture.events).toMatchObject([
      { outcome: expect.not.stringMatching('success'), detail: { code } },
    ]);
    expect(fixture.admissions).toHaveLength(1);
    fixture.subject = PROXY;
    expect(await fixture.answer()).toBe('use');
  });

  it('is denied with INVALID_KEY where the key was revoked, without an event', async () => {
    fixture.meanwhile = () => (fixture.subject = undefined);
    expect([await fixture.answer(), fixture.events]).toEqual([{ code: 'INVALID_KEY' }, []]);
  });

  it('counts once against a rate that was attached meanwhile', async () => {
    fixture.meanwhile = () => (fixture.policy = { allowed: true, rates: [RATE], uses: [] });
    expect(await fixture.answer()).toBe('use');
    expect(fixture.calls.filter((call) => call.startsWith('take'))).toEqual(['take rul_1 proxy prx_1']);
  });
});

describe('a use that has waited', () => {
  const waited = async (meanwhile: () => void): Promise<unknown> => {
    fixture.policy = { allowed: true, rates: [RATE], uses: [] };
    const decision = await fixture.decide();
    meanwhile();
    return decision.outcome === 'use' ? decision.recheck() : decision;
  };

  it('is not counted or recorded again where nothing changed that it depends on', async () => {
    expect(await waited(() => fixture.change({ accountRevision: 8 }))).toBeUndefined();
    expect([fixture.admissions, fixture.preconditions, fixture.events]).toMatchObject([[{}], [{}], [{}]]);
    expect(fixture.calls).not.toContain(`take ${RATE.counter.key}`);
  });

  it('is denied by a rate that was lowered below its count, with an event', async () => {
    const lowered = { ...RATE, counter: { ...RATE.counter, limit: 1 } };
    fixture.take = { allowed: false, scope: 'rate_limit', retryAfterSeconds: 9 };
    const denial = await waited(() => (fixture.policy = { allowed: true, rates: [lowered], uses: [] }));
    expect(denial).toEqual({ code: 'POLICY_DENIED', ...RATE.denial, retryAfterSeconds: 9 });
    expect(fixture.events).toMatchObject([{ outcome: 'success' }, { outcome: 'rate_limited' }]);
  });

  it.each([{ revision: 4 }, { webhookId: 'whk_2' }])('is rejected where it changed to %j', async (change) => {
    await expect(waited(() => fixture.change(change))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

it('a full rate denies by its policy, and every other limit by RATE_LIMITED', async () => {
  fixture.policy = { allowed: true, rates: [RATE], uses: [] };
  const verdict = { allowed: false, retryAfterSeconds: 9 } as const;
  fixture.admit = { ...verdict, scope: 'rate_limit', key: RATE.counter.key };
  expect(await fixture.answer()).toEqual({ code: 'POLICY_DENIED', ...RATE.denial, retryAfterSeconds: 9 });
  fixture.admit = { ...verdict, scope: 'proxy_mcp' };
  expect(await fixture.answer()).toEqual({ code: 'RATE_LIMITED', scope: 'proxy_mcp', retryAfterSeconds: 9 });
});

it('a large body is admitted for a known key only, with a stream and memory and without a count', async () => {
  const { access } = fixture;
  const first = await access.admit('hash', 60, ORIGIN);
  expect([first.outcome, fixture.calls]).toEqual(['admitted', ['store']]);
  expect(await access.admit('hash', 60, ORIGIN)).toMatchObject({ denial: { scope: 'open_streams' } });
  if (first.outcome === 'admitted') first.stream.close();
  // The first body still has its memory.
  expect(await access.admit('hash', 60, ORIGIN)).toMatchObject({ denial: { scope: 'large_bodies' } });
  expect(await access.admit('hash', 40, ORIGIN)).toMatchObject({ outcome: 'admitted' });
  fixture.change({ agentId, agentStatus: 'deleted' });
  expect(await access.admit('hash', 60, ORIGIN)).toMatchObject({ denial: { code: 'AGENT_INACTIVE' } });
  fixture.subject = undefined;
  expect(await access.admit('hash', 60, ORIGIN)).toMatchObject({ denial: { code: 'INVALID_KEY' } });
});

it('a malformed key is denied without a call', async () => {
  const sent = { method: 'GET', target: undefined, fields: [], body: new Uint8Array() };
  const asked = { keyHash: undefined, kind: 'mcp', traffic: 'proxy_mcp' } as const;
  const request = { ...asked, ...sent, origin: ORIGIN };
  expect(await fixture.access.decide(request)).toMatchObject({ denial: { code: 'INVALID_KEY' } });
  expect(fixture.calls).toEqual([]);
});

it('a proxy is denied at the address of the other kind, and the denial names the right one', async () => {
  fixture.change({ kind: 'http' });
  const message = 'This proxy is for an HTTP API. Its address here is /api/proxy/http.';
  expect(await fixture.answer()).toEqual({ code: 'FORBIDDEN', message });
  await fixture.flushDenials();
  expect(fixture.events).toMatchObject([{ outcome: 'denied', detail: { code: 'FORBIDDEN' } }]);
});

describe('a use that is committed and not on the disk yet', () => {
  it('is allowed, and says when it is on the disk', async () => {
    const synced = Promise.withResolvers<void>();
    fixture.durable = synced.promise;
    const decision = await fixture.decide();
    expect(decision.outcome).toBe('use');
    synced.resolve();
    if (decision.outcome === 'use') await decision.durable;
  });

  it('is not allowed before where it is a lifetime use, and takes no stream where the disk fails', async () => {
    const uses = [{ targetType: 'proxy', targetId: 'prx_1', ruleId: 'rul_1', limit: 1 }] as const;
    fixture.policy = { allowed: true, rates: [], uses };
    fixture.durable = Promise.reject(new Error('the disk fails'));
    await expect(fixture.decide()).rejects.toThrow('the disk fails');
    fixture.durable = Promise.resolve();
    expect(await fixture.answer()).toBe('use');
  });
});
