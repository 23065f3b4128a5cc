import { verifyTicket } from '@svault/shared';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Fault } from '../support/faulty-webhook.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { BASE_URL } from '../support/management-service.ts';

let service: LinkedService;

beforeAll(async () => {
  service = await startLinkedService();
});
afterAll(() => service.stop());
/** Each test changes the link itself. */
beforeEach(async () => {
  await service.webhook.open();
  service.webhook.keys.clear();
  service.webhook.probes = 0;
  expect((await service.bind()).status).toBe(201);
});
afterEach(async () => {
  service.webhook.fault = undefined;
  await service.admin('DELETE', '/api/webhook');
});

const view = async () => (await service.admin('GET', '/api/webhook')).json;

describe('GET /api/webhook', () => {
  it('returns the webhook’s address, capabilities, version, last answer and latency, and how far its copy of the log reaches', async () => {
    expect(await view()).toEqual({
      bound: true,
      webhookId: service.webhook.webhookId,
      url: service.webhook.url,
      capabilities: ['storage', 'credential', 'store', 'refresh-notify'],
      reachable: true,
      lastSeenAt: new Date(service.clock.now()).toISOString(),
      latencyMs: 0,
      boundAt: new Date(service.clock.now()).toISOString(),
      keyId: 'k1',
      rotationPending: false,
      version: expect.stringMatching(/./),
      controlPlaneVersion: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      log: { newest: expect.any(Number), acknowledged: 0, behindSince: null },
    });
  });

  it('returns that the webhook is unreachable, and its last answer', async () => {
    const { lastSeenAt } = await view();
    await service.webhook.shut();
    service.clock.advance(60_000);
    expect(await view()).toMatchObject({ reachable: false, lastSeenAt });
  });
});

describe('a webhook that is offline', () => {
  const offlineAnswers: readonly (readonly [string, Fault])[] = [
    ['breaks connections', 'break'],
    ['stands behind a gateway that fails', { status: 503, body: 'no upstream' }],
    ['stands behind a gateway that times out', { status: 504, body: '{}' }],
  ];
  it.each(offlineAnswers)(
    '503 with Retry-After once it %s, until it answers a probe',
    async (_how, fault) => {
      const agent = await service.agent('github');
      expect((await agent.get('github')).status).toBe(307);
      service.webhook.fault = () => fault;
      await view();
      const refused = await agent.get('github');
      expect(refused).toMatchObject({ status: 503, json: { code: 'WEBHOOK_UNAVAILABLE', retryAfter: 2 } });
      expect(refused.headers.get('retry-after')).toBe('2');
      expect(refused.headers.get('location')).toBeNull();
      service.webhook.fault = undefined;
      expect((await agent.get('github')).status).toBe(503);
      await service.runJob('webhook probes');
      await expect.poll(async () => (await agent.get('github')).status).toBe(307);
      expect(service.webhook.probes).toBe(1);
    },
  );

  it('is online again with the first call that it answers', async () => {
    const agent = await service.agent('github');
    await service.webhook.shut();
    await view();
    expect((await agent.get('github')).status).toBe(503);
    await service.webhook.open();
    expect((await view()).reachable).toBe(true);
    expect((await agent.get('github')).status).toBe(307);
  });

  it('is not offline after a refusal or garbage', async () => {
    const agent = await service.agent('github');
    for (const fault of [
      { status: 401, body: '{"error":"no","code":"SIGNATURE_INVALID"}' },
      { status: 503, body: '{"error":"busy","code":"UNAVAILABLE"}' },
      { status: 200, body: '<html>' },
    ]) {
      service.webhook.fault = () => fault;
      await view();
      expect((await agent.get('github')).status).toBe(307);
    }
  });

  it('logs the denial', async () => {
    const agent = await service.agent('github');
    await service.webhook.shut();
    await view();
    await agent.get('github');
    const [event] = await service.log(`&agentId=${agent.id}`);
    expect(event).toMatchObject({ outcome: 'error', detail: { code: 'WEBHOOK_UNAVAILABLE' } });
  });
});

describe('the rotation of the webhook key', () => {
  const rotate = () => service.admin('POST', '/api/webhook/rotate-secret');

  const keyOfTicket = async (agent: Awaited<ReturnType<LinkedService['agent']>>): Promise<string> => {
    const { headers } = await agent.get('github');
    const [header = ''] = (new URL(headers.get('location') ?? '').searchParams.get('ticket') ?? '').split(
      '.',
    );
    return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }).kid;
  };

  it('requests a key under the current one, activates it by a health call, and signs with it from then on', async () => {
    const agent = await service.agent('github');
    service.webhook.served.length = 0;
    expect(await rotate()).toMatchObject({ status: 200, json: { keyId: 'k2' } });
    expect(service.webhook.served).toEqual([
      { path: '/v1/exchange', keyId: 'k1', op: 'rotate' },
      { path: '/v1/health', keyId: 'k2' },
    ]);
    expect(await keyOfTicket(agent)).toBe('k2');
    expect(await view()).toMatchObject({ keyId: 'k2', rotationPending: false });
    const [event] = await service.log('&eventType=WEBHOOK_SECRET_ROTATED');
    expect(event).toMatchObject({ detail: { keyId: 'k2', formerKeyId: 'k1' } });
  });

  it('signs no ticket under a key before its health call is answered', async () => {
    const agent = await service.agent('github');
    service.webhook.fault = (path) =>
      path === '/v1/health' ? { status: 500, body: '{"error":"no","code":"INTERNAL"}' } : undefined;
    expect((await rotate()).status).toBe(502);
    expect(await keyOfTicket(agent)).toBe('k1');
    service.webhook.fault = undefined;
    expect(await view()).toMatchObject({ keyId: 'k1', rotationPending: true });
  });

  it('completes an interrupted rotation before it starts another', async () => {
    service.webhook.fault = (path) =>
      path === '/v1/health' ? { status: 500, body: '{"error":"no","code":"INTERNAL"}' } : undefined;
    await rotate();
    service.webhook.fault = undefined;
    service.webhook.served.length = 0;
    expect(await rotate()).toMatchObject({ status: 200, json: { keyId: 'k3' } });
    expect(service.webhook.served).toEqual([
      { path: '/v1/health', keyId: 'k2' },
      { path: '/v1/exchange', keyId: 'k2', op: 'rotate' },
      { path: '/v1/health', keyId: 'k3' },
    ]);
  });

  it('keeps the current key when the exchange fails, which is not retried', async () => {
    let tries = 0;
    service.webhook.fault = (path) => (path === '/v1/exchange' ? (tries++, 'lose') : undefined);
    expect(await rotate()).toMatchObject({ status: 503, json: { code: 'WEBHOOK_UNAVAILABLE' } });
    expect(tries).toBe(1);
    service.webhook.fault = undefined;
    expect(await view()).toMatchObject({ reachable: true, keyId: 'k1', rotationPending: false });
  });

  /** The next exchange is answered when the test says so. */
  const heldExchange = (): { asked: Promise<void>; release: () => void } => {
    const release = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    service.webhook.fault = (path) => {
      if (path !== '/v1/exchange') return undefined;
      service.webhook.fault = undefined;
      asked.resolve();
      return release.promise.then(() => undefined);
    };
    return { asked: asked.promise, release: release.resolve };
  };

  it('stores no key that arrives after the vault was locked', async () => {
    const { asked, release } = heldExchange();
    const rotating = rotate();
    await asked;
    await service.admin('POST', '/api/vault/lock');
    release();
    expect(await rotating).toMatchObject({ status: 423, json: { code: 'VAULT_LOCKED' } });
    expect(await view()).toMatchObject({ keyId: 'k1', rotationPending: false, reachable: true });
    await service.admin('POST', '/api/vault/unlock');
    expect((await rotate()).status).toBe(200);
  });

  it('completes one of two concurrent rotations, and the link goes on working', async () => {
    const agent = await service.agent('github');
    // Neither is answered before both have asked for a key.
    const both = Promise.withResolvers<void>();
    let asked = 0;
    service.webhook.fault = (path) => {
      if (path !== '/v1/exchange') return undefined;
      if (++asked === 2) both.resolve();
      return both.promise.then(() => undefined);
    };
    const answers = await Promise.all([rotate(), rotate()]);
    service.webhook.fault = undefined;
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).not.toEqual([200, 200]);
    expect(await view()).toMatchObject({ reachable: true });
    expect(await rotate()).toMatchObject({ status: 200 });
    const { keyId } = await view();
    expect(await keyOfTicket(agent)).toBe(keyId);
  });

  it('never stores a key of a former webhook for the one that is bound meanwhile', async () => {
    const { asked, release } = heldExchange();
    const rotating = rotate();
    await asked;
    await service.admin('DELETE', '/api/webhook');
    expect((await service.bind()).status).toBe(201);
    const { keyId } = await view();
    release();
    expect(await rotating).toMatchObject({ status: 409, json: { code: 'CONFLICT' } });
    expect(await view()).toMatchObject({ keyId, rotationPending: false, reachable: true });
  });

  it('answers 502 WEBHOOK_NOT_CONFIGURED where none is bound', async () => {
    await service.admin('DELETE', '/api/webhook');
    expect(await rotate()).toMatchObject({ status: 502, json: { code: 'WEBHOOK_NOT_CONFIGURED' } });
  });
});

describe('tickets for owners', () => {
  beforeEach(() =>
    service.admin('POST', '/api/tokens', { body: { serviceName: 'github', tokenType: 'PlainText' } }),
  );

  const policy = () => ({
    issuer: BASE_URL,
    audience: service.webhook.webhookId,
    keyFor: (keyId: string) => service.webhook.keys.get(keyId),
    nowMs: service.clock.now(),
  });

  it('let an admin replace a record within five minutes', async () => {
    const { json } = await service.admin('POST', '/api/tokens/github/store-ticket');
    expect(json.url).toBe(`${service.webhook.url}/v1/store`);
    const claims = verifyTicket(json.ticket as string, { op: 'store', ...policy() });
    expect(claims).toMatchObject({ svc: 'github', sub: expect.stringMatching(/^usr_/) });
    expect(claims.ifv).toBeUndefined();
    expect(claims.exp - claims.iat).toBe(300);
    expect(Date.parse(json.expiresAt as string)).toBe(claims.exp * 1000);
    const [event] = await service.log('&eventType=TOKEN_STORE_TICKET');
    expect(event).toMatchObject({ serviceName: 'github', outcome: 'success' });
  });

  it('give an admin a credential address, for a recipient of a sealed record too, with an event', async () => {
    const jkt = 'A'.repeat(43);
    const { json } = await service.admin('POST', '/api/tokens/github/credential-ticket', { body: { jkt } });
    const ticket = new URL(json.url as string).searchParams.get('ticket') ?? '';
    const claims = verifyTicket(ticket, { op: 'credential', ...policy() });
    expect(claims).toMatchObject({ svc: 'github', cnf: { jkt }, rfp: 'none' });
    expect(claims.gnt).toBeUndefined();
    const [event] = await service.log('&eventType=OWNER_CREDENTIAL_ACCESS');
    expect(event).toMatchObject({ serviceName: 'github', userId: claims.sub });
  });

  it.each(['store-ticket', 'credential-ticket'])(
    'are denied for an unknown token, while the vault is locked, and without a webhook: %s',
    async (kind) => {
      const ask = (name: string) => service.admin('POST', `/api/tokens/${name}/${kind}`);
      expect((await ask('unknown')).status).toBe(404);
      await service.admin('POST', '/api/vault/lock');
      expect(await ask('github')).toMatchObject({ status: 423, json: { code: 'VAULT_LOCKED' } });
      await service.admin('POST', '/api/vault/unlock');
      await service.admin('DELETE', '/api/webhook');
      expect(await ask('github')).toMatchObject({ status: 502, json: { code: 'WEBHOOK_NOT_CONFIGURED' } });
    },
  );

  it('are rejected with a malformed thumbprint or unknown members', async () => {
    for (const body of [{ jkt: 'short' }, { jkt: 1 }, { other: true }])
      expect((await service.admin('POST', '/api/tokens/github/credential-ticket', { body })).status).toBe(
        422,
      );
  });
});
