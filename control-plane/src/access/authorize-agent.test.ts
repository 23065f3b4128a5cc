import { beforeEach, describe, expect, it } from 'vitest';
import { agentKeyCredential, sessionCredential } from '../core/agent.ts';
import {
  AGENT,
  AgentFixture,
  GITHUB,
  NOW,
  NO_NAME,
  NO_POLICY,
  SESSION,
  UNLIMITED,
} from './access-fixture.ts';
import type { Operation } from './decision.ts';

let fixture: AgentFixture;
beforeEach(() => {
  fixture = new AgentFixture();
});

describe('the order of denials', () => {
  it('evaluates grant and policies before one call of the limiter, and issues the ticket last', async () => {
    expect(await fixture.decide(GITHUB)).toEqual({ outcome: 'ticket', url: 'https://x', expiresAt: NOW });
    expect(fixture.calls).toEqual(['store', 'policies', 'limiter', 'offline', 'ticket']);
    expect(fixture.events).toMatchObject([{ outcome: 'success', serviceName: 'github', agentId: 'agt_1' }]);
  });

  /** Each cause, in the order of the specification, and how the test removes it. */
  const causes: readonly (readonly [string, Operation, () => void])[] = [
    ['AGENT_INACTIVE', NO_NAME, () => fixture.change({ status: 'active' })],
    ['MCP_DISABLED', NO_NAME, () => fixture.change({ mcpEnabled: 1 })],
    ['RATE_LIMITED', NO_NAME, () => (fixture.admit = UNLIMITED)],
    ['INVALID_SERVICE', NO_NAME, () => undefined],
    ['VAULT_LOCKED', GITHUB, () => fixture.change({ vaultLockedAt: null })],
    ['NO_GRANT', GITHUB, () => fixture.change({ grantId: AGENT.grantId })],
    ['POLICY_DENIED', GITHUB, () => (fixture.policy = NO_POLICY)],
    ['WEBHOOK_NOT_CONFIGURED', GITHUB, () => fixture.change({ webhookId: AGENT.webhookId })],
    ['WEBHOOK_UNAVAILABLE', GITHUB, () => (fixture.offlineForSeconds = 0)],
  ];

  // spec: Then grant and policy checks.
  it.each([
    ['rest', 'MCP_DISABLED'],
    ['mcp', 'WEBHOOK_UNAVAILABLE'],
  ] as const)('is that of the specification over %s, which never denies with %s', async (channel, never) => {
    fixture.change({
      status: 'suspended',
      mcpEnabled: 0,
      vaultLockedAt: '2026-11-20T00:00:00.000Z',
      grantId: null,
      webhookId: null,
    });
    fixture.admit = { allowed: false, scope: 'agent_credentials', retryAfterSeconds: 17 };
    fixture.policy = { allowed: false, policy: 'p', rule: 'time_window', reason: 'closed' };
    fixture.offlineForSeconds = 9;
    expect(await fixture.answer(NO_NAME, { credential: undefined, channel })).toEqual({
      code: 'INVALID_KEY',
    });
    for (const [code, operation, remove] of causes) {
      const answer = await fixture.answer(operation, { channel });
      if (code === never) expect(answer).not.toMatchObject({ code });
      else expect(answer).toMatchObject({ code });
      remove();
    }
    expect(await fixture.answer(GITHUB, { channel })).toBe('ticket');
  });
});

describe('credentials', () => {
  const body = 'A'.repeat(43);
  it.each([
    ['agent key', (text: string) => agentKeyCredential(text), `svagent_${body}`],
    ['session', (text: string) => sessionCredential(text, 'https://x'), `svsess_${body}`],
  ] as const)('of kind %s are kept as a hash, and only in their own form', (_kind, parse, key) => {
    expect(parse(key)).toMatchObject({ hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(JSON.stringify(parse(key))).not.toContain(body);
    const others = [`svsessr_${body}`, `mcp_${body}`, `${key}A`, key.slice(0, -1), ` ${key}`, `${key}\n`, ''];
    const foreign = key.startsWith('svagent') ? `svsess_${body}` : `svagent_${body}`;
    for (const text of [...others, foreign, key.toUpperCase()]) expect(parse(text)).toBeUndefined();
  });

  it('that are malformed are denied without a call or an event', async () => {
    expect(await fixture.answer(GITHUB, { credential: undefined })).toEqual({ code: 'INVALID_KEY' });
    expect([fixture.calls, fixture.events]).toEqual([[], []]);
  });

  it('that are unknown are denied without a count or an event', async () => {
    const credential = { kind: 'key', hash: 'of another' } as const;
    expect(await fixture.answer(GITHUB, { credential })).toEqual({ code: 'INVALID_KEY' });
    expect([fixture.calls, fixture.events]).toEqual([['store'], []]);
  });

  it('make a ticket require the account revision of the decision, and an access token that is not expired', async () => {
    const expiresAt = '2026-11-20T12:10:00.000Z';
    fixture.change({ credentialExpiresAt: expiresAt });
    expect(await fixture.answer(GITHUB, { channel: 'mcp', credential: SESSION })).toBe('ticket');
    expect(fixture.preconditions).toEqual([{ accountRevision: 7, expiresAt, uses: [] }]);
  });

  it('make a ticket require that the grant has not expired, where it expires first', async () => {
    const expiresAt = '2026-11-20T12:05:00.000Z';
    fixture.change({ grantExpiresAt: expiresAt, credentialExpiresAt: '2026-11-20T12:10:00.000Z' });
    expect(await fixture.answer(GITHUB, { credential: SESSION })).toBe('ticket');
    expect(fixture.preconditions).toEqual([{ accountRevision: 7, expiresAt, uses: [] }]);
  });
});

it.each([
  ['AGENT_INACTIVE', { status: 'suspended' }],
  ['AGENT_INACTIVE', { status: 'deleted' }],
  ['MCP_DISABLED', { mcpEnabled: 0 }],
] as const)('%s for %j is not limited, and logged once a minute with its count', async (code, change) => {
  fixture.change(change);
  for (let tries = 0; tries < 3; tries++)
    expect(await fixture.answer(GITHUB, { channel: 'mcp' })).toEqual({ code });
  expect(fixture.events).toMatchObject([{ outcome: 'denied', serviceName: 'github', detail: { code } }]);
  expect(fixture.admissions).toEqual([]);
  await fixture.flushDenials();
  expect(fixture.events.slice(1)).toMatchObject([{ outcome: 'denied', count: 2, detail: { code } }]);
});

describe('the limiter', () => {
  it('gets caller, traffic and aggregate limit, the same for each channel and credential', async () => {
    fixture.change({ activeAgents: 34, proxies: 1 });
    await fixture.decide(GITHUB);
    await fixture.decide(GITHUB, { channel: 'mcp' });
    await fixture.decide(GITHUB, { channel: 'mcp', credential: SESSION });
    const admission = {
      vaultId: 'vlt_1',
      callerId: 'agt_1',
      traffic: 'agent_credentials',
      aggregateLimit: 3_000,
      extraCounters: [],
    };
    expect(fixture.admissions).toEqual([admission, admission, admission]);
  });

  it.each(['penalty_box', 'agent_credentials', 'user_aggregate', 'mcp_handshake'] as const)(
    'denies by %s with the seconds to wait, logged as one event a minute with its count',
    async (scope) => {
      fixture.admit = { allowed: false, scope, retryAfterSeconds: 17 };
      for (let tries = 0; tries < 3; tries++)
        expect(await fixture.answer(GITHUB)).toEqual({ code: 'RATE_LIMITED', scope, retryAfterSeconds: 17 });
      expect(fixture.events).toEqual([]);
      await fixture.flushDenials();
      expect(fixture.events).toMatchObject([
        { outcome: 'rate_limited', count: 3, detail: { code: 'RATE_LIMITED' } },
      ]);
    },
  );
});
