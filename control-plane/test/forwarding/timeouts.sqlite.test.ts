import type { ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { silentLogger } from '@svault/server-kit/logger';
import { type Id, ManualClock, Secret, newTimeOrderedId } from '@svault/shared';
import { type AnswerHead, type Egress, createEgress } from '@svault/shared/egress';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RefreshResult } from '../../src/refresh/refresh-result.ts';
import { createSessionIds } from '../../src/access/session-ids.ts';
import { createApprovalWaiters } from '../../src/access/approval-waiters.ts';
import { createForward } from '../../src/forwarding/forward.ts';
import type { ProxyUse } from '../../src/access/decision.ts';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { type OnlineStatus, createOutageTracker } from '../../src/webhook/outages.ts';
import { createTickets } from '../../src/webhook/tickets.ts';

// Timeouts of upstreams and webhooks, with shorter times than PROTOCOL.md TRN-22 and on both ways; and calls that need a
// refresh first (PROTOCOL.md PRX-11).

const [vaultId, proxyId, agentId] = ['vlt_1' as Id<'vlt'>, 'prx_1' as Id<'prx'>, 'agt_1' as Id<'agt'>];
const LONG_TIMEOUTS = { headMs: 60_000, idleMs: 60_000 };
/** Long enough for a request to arrive on a busy machine. */
const SHORT_HEAD_TIMEOUT = { ...LONG_TIMEOUTS, headMs: 250 };
const SHORT_IDLE_TIMEOUT = { ...LONG_TIMEOUTS, idleMs: 30 };
const keys = {
  wrap: () => ({ id: 'k1', wrapped: '' }),
  open: () => ({ id: 'k1', secret: new Uint8Array(32) }),
};

let upstream: PlainUpstream;
let requests: number;
let answering: (res: ServerResponse) => void;
let url: string;
let egress: Egress;
let status: OnlineStatus;
let refreshing: () => RefreshResult;

beforeEach(async () => {
  refreshing = () => ({ outcome: 'failed' });
  requests = 0;
  upstream = await startPlainUpstream((_req, res) => {
    requests += 1;
    answering(res);
  });
  url = upstream.origin;
  egress = createEgress({ allow: ['127.0.0.0/8'] });
  status = createOutageTracker(new ManualClock());
});
afterEach(async () => {
  await egress.close();
  await upstream.close();
});

async function exchange(use: ProxyUse, timeouts = LONG_TIMEOUTS) {
  const clock = new ManualClock();
  const forward = createForward({
    baseUrl: 'http://127.0.0.1:1',
    sessionIds: createSessionIds(new Uint8Array(32)),
    rejections: { record: () => Promise.resolve() },
    egress,
    keys,
    tickets: createTickets({ baseUrl: 'https://service.example', keys, clock }),
    links: { find: () => Promise.resolve(undefined) },
    configs: { ensure: () => Promise.resolve(), forgetDelivery: () => Promise.resolve() },
    refresh: { refresh: () => Promise.resolve(refreshing()) },
    sessions: { tokenFor: () => Promise.resolve(new Secret('svsess_token')) },
    sealedApprovals: { ask: () => Promise.reject(new Error('nothing here needs an approval')) },
    waiters: createApprovalWaiters({
      approvals: { decidedAmong: () => Promise.resolve([]) },
      learnStates: () => Promise.resolve(),
      onError: () => undefined,
    }),
    status,
    clock,
    signatureAlarm: () => undefined,
    logger: silentLogger,
    timeouts,
  });
  const taker = new PassThrough();
  taker.on('error', () => undefined).resume();
  let head: AnswerHead | undefined;
  const refused = await forward(
    use,
    {
      method: 'POST',
      fields: [],
      body: Buffer.from('{}'),
      signal: new AbortController().signal,
      durable: Promise.resolve(),
      recheck: async () => undefined,
    },
    (answer) => ((head = answer), taker),
  );
  return { refused, head, broken: taker.destroyed && !taker.writableFinished };
}

const toWebhook = (at = url): ProxyUse => ({
  kind: 'webhook',
  credentialRejected: null,
  vaultId,
  proxyId,
  origin: { requestId: newTimeOrderedId('req', 0) },
  webhook: { webhookId: 'whk', url: at, keyId: 'k1', keyWrapped: '' },
  config: {
    proxyId,
    serviceName: 'github',
    upstreamUrl: 'https://mcp.example.com/',
    headerTemplates: {},
    revision: 1,
    deliveredAs: 'whk 1',
  },
});
const toUpstream = (): ProxyUse => ({
  kind: 'session',
  vaultId,
  proxyId,
  origin: { requestId: 'req_1' },
  proxy: { vaultId, proxyId, agentId, upstreamUrl: url },
  headerTemplates: {},
});

it('a webhook that times out is offline after the second call, and gets no call twice', async () => {
  answering = () => undefined;
  const { refused } = await exchange(toWebhook(), SHORT_HEAD_TIMEOUT);
  expect(refused).toMatchObject({ status: 502, code: 'WEBHOOK_UNAVAILABLE' });
  expect([requests, status.offlineForSeconds(vaultId)]).toEqual([1, 0]);
  const second = await exchange(toWebhook(), SHORT_HEAD_TIMEOUT);
  expect(second.refused).toMatchObject({ status: 502, code: 'WEBHOOK_UNAVAILABLE', retryAfterSeconds: 2 });
  expect([requests, status.offlineForSeconds(vaultId)]).toEqual([2, 2]);
});

it('an upstream that times out does not make the webhook offline', async () => {
  answering = () => undefined;
  const { refused } = await exchange(toUpstream(), SHORT_HEAD_TIMEOUT);
  expect(refused).toMatchObject({ status: 504, code: 'UPSTREAM_TIMEOUT' });
  expect(requests).toBe(1);
});

it.each([
  ['by the webhook', () => toWebhook()],
  ['directly', () => toUpstream()],
])('an answer that stops breaks off for the caller, %s', async (_how, use) => {
  answering = (res) => {
    res.writeHead(200, { 'sv-proxy-origin': 'upstream' });
    res.write('half');
  };
  const { refused, head, broken } = await exchange(use(), SHORT_IDLE_TIMEOUT);
  expect([refused, head?.status, broken, requests]).toEqual([undefined, 200, true, 1]);
  expect(status.offlineForSeconds(vaultId)).toBe(0);
});

it('a webhook at a denied address gets no request, and does not count as offline', async () => {
  const { refused } = await exchange(toWebhook('https://169.254.169.254'));
  expect([refused?.code, status.offlineForSeconds(vaultId)]).toEqual(['WEBHOOK_UNAVAILABLE', 0]);
});

describe('a webhook that answers 409 REFRESH_NEEDED', () => {
  const needsRefresh = (res: ServerResponse): void => {
    res.writeHead(409, {
      'sv-proxy-origin': 'webhook',
      'content-type': 'application/json',
      'retry-after': '5',
    });
    res.end('{"error":"only the service can","code":"REFRESH_NEEDED"}');
  };

  it('is called once more after a refresh, and then not again', async () => {
    refreshing = () => ({ outcome: 'refreshed' });
    answering = (res) => {
      if (requests === 1) needsRefresh(res);
      else res.writeHead(200, { 'sv-proxy-origin': 'upstream' }).end('{}');
    };
    expect(await exchange(toWebhook())).toMatchObject({ refused: undefined, head: { status: 200 } });
    expect(requests).toBe(2);
    answering = needsRefresh;
    const { refused } = await exchange(toWebhook());
    expect(refused).toMatchObject({ status: 502, code: 'REFRESH_NEEDED', retryAfterSeconds: 5 });
    expect(requests).toBe(4);
  });

  it.each<readonly [RefreshResult, number, string, number | undefined]>([
    [{ outcome: 'limited', retryAfterSeconds: 40 }, 429, 'RATE_LIMITED', 40],
    [{ outcome: 'busy', retryAfterSeconds: 3 }, 502, 'REFRESH_NEEDED', 3],
    [{ outcome: 'accepted' }, 502, 'REFRESH_NEEDED', 5],
    [{ outcome: 'provider_not_configured' }, 502, 'REFRESH_NEEDED', 5],
    [{ outcome: 'not_refreshable' }, 502, 'NOT_REFRESHABLE', undefined],
    [{ outcome: 'reauth_needed' }, 502, 'REAUTH_NEEDED', undefined],
    [{ outcome: 'failed' }, 502, 'PROVIDER_ERROR', undefined],
    [{ outcome: 'webhook_unavailable' }, 502, 'WEBHOOK_UNAVAILABLE', 2],
  ])(
    'with the refresh result %o is answered %i %s without another call',
    async (result, expected, code, retryAfter) => {
      refreshing = () => result;
      answering = needsRefresh;
      const { refused } = await exchange(toWebhook());
      expect([refused?.status, refused?.code, refused?.retryAfterSeconds]).toEqual([
        expected,
        code,
        retryAfter,
      ]);
      expect(requests).toBe(1);
    },
  );
});
