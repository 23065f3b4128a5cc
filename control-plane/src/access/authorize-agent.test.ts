import { beforeEach, describe, expect, it, test } from 'vitest';
import type { LimiterVerdict } from '../limits/limiter.ts';
import type { Operation } from './decision.ts';
import { agentKeyCredential, sessionCredential } from '../core/agent.ts';
import { AccessStage, FREE, GITHUB, NO_NAME, NOW, OPEN, SESSION } from './staged-access.ts';

// What every question has to pass, and in which order.

const FULL: LimiterVerdict = { allowed: false, scope: 'agent_credentials', retryAfterSeconds: 17 };

let stage: AccessStage;
beforeEach(() => {
  stage = new AccessStage();
});

describe('the order of answers', () => {
  it('looks at grant and policies before it asks the limiter once, and issues the ticket last', async () => {
    expect(await stage.ask(GITHUB)).toEqual({ outcome: 'ticket', url: 'https://x', expiresAt: NOW });
    expect(stage.asked).toEqual(['store', 'policies', 'limiter', 'offline', 'ticket']);
    expect(stage.events).toMatchObject([{ outcome: 'success', serviceName: 'github', agentId: 'agt_1' }]);
  });

  /** What stands in the way, from the first to the last, and how it is cleared. */
  const obstacles: readonly (readonly [string, Operation, (stage: AccessStage) => void])[] = [
    ['AGENT_INACTIVE', NO_NAME, () => stage.change({ status: 'active' })],
    ['MCP_DISABLED', NO_NAME, () => stage.change({ mcpEnabled: 1 })],
    ['RATE_LIMITED', NO_NAME, () => (stage.admit = OPEN)],
    ['INVALID_SERVICE', NO_NAME, () => undefined],
    ['VAULT_LOCKED', GITHUB, () => stage.change({ vaultLockedAt: null })],
    ['NO_GRANT', GITHUB, () => stage.change(GRANT)],
    ['POLICY_DENIED', GITHUB, () => (stage.policy = FREE)],
    ['WEBHOOK_NOT_CONFIGURED', GITHUB, () => stage.change(WEBHOOK)],
    ['WEBHOOK_UNAVAILABLE', GITHUB, () => (stage.offlineForSeconds = 0)],
  ];
  const { grantId, webhookId } = new AccessStage().subject;
  const [GRANT, WEBHOOK] = [{ grantId }, { webhookId }];

  test.each([
    ['rest', ['MCP_DISABLED']],
    ['mcp', ['WEBHOOK_UNAVAILABLE']],
  ] as const)('at %s: first what comes first, when everything is wrong at once', async (channel, unknown) => {
    stage.change({
      status: 'suspended',
      mcpEnabled: 0,
      vaultLockedAt: '2026-11-20T00:00:00.000Z',
      grantId: null,
      webhookId: null,
    });
    stage.admit = FULL;
    stage.policy = { allowed: false, policy: 'p', rule: 'time_window', reason: 'closed' };
    stage.offlineForSeconds = 9;
    expect(await stage.said(NO_NAME, { credential: undefined, channel })).toEqual({ code: 'INVALID_KEY' });
    for (const [code, operation, clear] of obstacles) {
      const said = await stage.said(operation, { channel });
      if (unknown.some((other) => other === code)) expect(said).not.toMatchObject({ code });
      else expect(said).toMatchObject({ code });
      clear(stage);
    }
    expect(await stage.said(GITHUB, { channel })).toBe('ticket');
  });
});

describe('credentials', () => {
  const body = 'A'.repeat(43);
  it.each([
    ['agent key', (text: string) => agentKeyCredential(text), `svagent_${body}`],
    ['session', (text: string) => sessionCredential(text, 'https://x'), `svsess_${body}`],
  ] as const)('%s: kept as a hash, and only in its own form', (_kind, parse, key) => {
    expect(parse(key)).toMatchObject({ hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(JSON.stringify(parse(key))).not.toContain(body);
    const others = [`svsessr_${body}`, `mcp_${body}`, `${key}A`, key.slice(0, -1), ` ${key}`, `${key}\n`, ''];
    const foreign = key.startsWith('svagent') ? `svsess_${body}` : `svagent_${body}`;
    for (const text of [...others, foreign, key.toUpperCase()]) expect(parse(text)).toBeUndefined();
  });

  it('that cannot be one is looked up nowhere, and nothing is written', async () => {
    expect(await stage.said(GITHUB, { credential: undefined })).toEqual({ code: 'INVALID_KEY' });
    expect([stage.asked, stage.events]).toEqual([[], []]);
  });

  it('that nobody has is counted nowhere, and nothing is written', async () => {
    const unknown = { kind: 'key', hash: 'of another' } as const;
    expect(await stage.said(GITHUB, { credential: unknown })).toEqual({ code: 'INVALID_KEY' });
    expect([stage.asked, stage.events]).toEqual([['store'], []]);
  });

  it('requires the revision that the decision read, and an access token that has not expired', async () => {
    const expiresAt = '2026-11-20T12:10:00.000Z';
    stage.change({ credentialExpiresAt: expiresAt });
    expect(await stage.said(GITHUB, { channel: 'mcp', credential: SESSION })).toBe('ticket');
    expect(stage.preconditions).toEqual([{ accountRevision: 7, expiresAt, uses: [] }]);
  });
});

describe('an agent that is kept out', () => {
  it.each([
    ['AGENT_INACTIVE', { status: 'suspended' }],
    ['AGENT_INACTIVE', { status: 'deleted' }],
    ['MCP_DISABLED', { mcpEnabled: 0 }],
  ] as const)('%s: written once a minute with its count, and not limited', async (code, change) => {
    stage.change(change);
    for (let tries = 0; tries < 3; tries++)
      expect(await stage.said(GITHUB, { channel: 'mcp' })).toEqual({ code });
    expect(stage.events).toMatchObject([{ outcome: 'denied', serviceName: 'github', detail: { code } }]);
    expect(stage.admissions).toEqual([]);
    await stage.flushDenials();
    expect(stage.events.slice(1)).toMatchObject([{ outcome: 'denied', count: 2, detail: { code } }]);
  });
});

describe('limits', () => {
  it('names caller, traffic and ceiling', async () => {
    stage.change({ activeAgents: 34, proxies: 1 });
    await stage.ask(GITHUB);
    expect(stage.admissions).toEqual([
      {
        vaultId: 'vlt_1',
        callerId: 'agt_1',
        traffic: 'agent_credentials',
        aggregateLimit: 3_000,
        extraCounters: [],
      },
    ]);
  });

  it('are the same at both doors, by key and by session', async () => {
    await stage.ask(GITHUB);
    await stage.ask(GITHUB, { channel: 'mcp' });
    await stage.ask(GITHUB, { channel: 'mcp', credential: SESSION });
    const [first] = stage.admissions;
    expect(stage.admissions).toEqual([first, first, first]);
  });

  it.each(['penalty_box', 'agent_credentials', 'user_aggregate', 'mcp_handshake'] as const)(
    '%s: said with its time, and written as one event a minute with its count',
    async (scope) => {
      stage.admit = { allowed: false, scope, retryAfterSeconds: 17 };
      for (let tries = 0; tries < 3; tries++)
        expect(await stage.said(GITHUB)).toEqual({ code: 'RATE_LIMITED', scope, retryAfterSeconds: 17 });
      expect(stage.events).toEqual([]);
      await stage.flushDenials();
      expect(stage.events).toMatchObject([
        { outcome: 'rate_limited', count: 3, detail: { code: 'RATE_LIMITED' } },
      ]);
    },
  );
});
