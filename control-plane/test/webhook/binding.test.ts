import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';
import { sha256, toBase64url, toHex } from '@svault/shared';
import { VERSION } from '@svault/server-kit/version';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { tracesOf } from '@svault/test-kit/secret-forms';
import type { Fault } from '../support/faulty-webhook.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';

/** A server with a certificate that nobody knows. @returns its address */
async function selfSigned(): Promise<string> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: '127.0.0.1' }]);
  const server = createServer({ key, cert });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('POST /api/webhook/bind', () => {
  let service: LinkedService;

  beforeAll(async () => {
    service = await startLinkedService();
  });
  afterEach(async () => {
    service.webhook.fault = undefined;
    await service.admin('DELETE', '/api/webhook');
  });
  afterAll(() => service.stop());

  const bindWith = (change: Record<string, unknown>) =>
    service.admin('POST', '/api/webhook/bind', { body: { ...service.webhook.offer(), ...change } });

  const expectNothingStored = async (): Promise<void> =>
    expect((await service.admin('GET', '/api/webhook')).json).toEqual({
      bound: false,
      controlPlaneVersion: VERSION,
    });

  it('exchanges the code, calls the webhook under the new key, and stores the key wrapped', async () => {
    service.webhook.served.length = 0;
    const answer = await service.bind();
    expect(answer).toMatchObject({
      status: 201,
      json: { bound: true, url: service.webhook.url, webhookId: service.webhook.webhookId, reachable: true },
    });
    expect(answer.json.capabilities).toEqual(['storage', 'credential', 'store', 'refresh-notify']);
    // Audit shipping starts with the binding.
    const served = service.webhook.served.filter(({ path }) => path !== '/v1/storage');
    expect(served).toEqual([
      { path: '/v1/exchange', keyId: 'bind' },
      { path: '/v1/health', keyId: answer.json.keyId },
    ]);
    const stored = await service.place.state.bytes();
    expect(tracesOf(toBase64url(service.webhook.secret), stored)).toEqual([]);
    expect(stored.includes(Buffer.from(service.webhook.secret))).toBe(false);
    const [event] = await service.log('&eventType=WEBHOOK_BOUND');
    expect(event).toMatchObject({ outcome: 'success', detail: { url: service.webhook.url } });
  });

  it('stores nothing when the secret has another fingerprint', async () => {
    const answer = await bindWith({ hmacHash: toHex(sha256(randomBytes(32))) });
    expect(answer).toMatchObject({ status: 502, json: { code: 'WEBHOOK_REFUSED' } });
    expect(answer.json.error).toContain('another fingerprint');
    await expectNothingStored();
  });

  it('stores nothing when the webhook does not know the code', async () => {
    const answer = await bindWith({ code: randomUUID() });
    expect(answer).toMatchObject({
      status: 502,
      json: { code: 'WEBHOOK_REFUSED', webhookCode: 'SIGNATURE_INVALID' },
    });
    expect(answer.json.error).toContain('Make a new link');
    await expectNothingStored();
  });

  it.each(['CODE_USED', 'CODE_EXPIRED', 'INVALID_REQUEST', 'RATE_LIMITED'])(
    'names the next step when the webhook answers %s',
    async (code) => {
      service.webhook.fault = () => ({ status: 410, body: JSON.stringify({ error: 'no', code }) });
      const answer = await service.bind();
      expect(answer).toMatchObject({ status: 502, json: { code: 'WEBHOOK_REFUSED', webhookCode: code } });
      expect(answer.json.error).toMatch(/new link|Wait a minute/);
      await expectNothingStored();
    },
  );

  it.each([
    ['nothing listens', () => Promise.resolve('https://127.0.0.1:1'), /nothing listens at this port/],
    [
      'no TLS is spoken',
      () => Promise.resolve(service.webhook.url.replace('http:', 'https:')),
      /does not speak TLS at this port/,
    ],
    ['the certificate is unknown', selfSigned, /not signed by an authority that the control plane trusts/],
  ])('says that %s at the address of the link', async (_what, address, why) => {
    const { status, json } = await bindWith({ webhookUrl: await address() });
    expect([status, json.code]).toEqual([503, 'WEBHOOK_UNAVAILABLE']);
    expect(json.error).toMatch(why);
    await expectNothingStored();
  });

  const faults: readonly (readonly [string, string, Fault, number])[] = [
    ['exchange', 'breaks the connection', 'break', 503],
    ['exchange', 'loses its answer', 'lose', 503],
    ['exchange', 'is behind a gateway that fails', { status: 502, body: '<html>bad gateway' }, 503],
    ['exchange', 'is something else', { status: 200, body: '<html>welcome' }, 502],
    ['exchange', 'answers other JSON', { status: 200, body: '{"ok":true}' }, 502],
    ['exchange', 'redirects', { status: 307, body: '', headers: { location: 'http://127.0.0.1:1/' } }, 502],
    [
      'health',
      'refuses the new key',
      { status: 401, body: '{"error":"no","code":"SIGNATURE_INVALID"}' },
      502,
    ],
    ['health', 'answers garbage', { status: 200, body: 'ok' }, 502],
  ];
  it.each(faults)('stores nothing when %s at the webhook %s', async (endpoint, _how, fault, status) => {
    service.webhook.fault = (path) => (path === `/v1/${endpoint}` ? fault : undefined);
    expect((await service.bind()).status).toBe(status);
    service.webhook.fault = undefined;
    await expectNothingStored();
  });

  it.each<Fault>(['break', 'lose'])(
    'keeps the key when the health call gets no answer (%s)',
    async (fault) => {
      service.webhook.fault = (path) => (path === '/v1/exchange' ? undefined : fault);
      const agent = await service.agent('github');
      service.pausesMs.length = 0;
      expect(await service.bind()).toMatchObject({ status: 201, json: { bound: true, reachable: false } });
      expect(service.pausesMs.slice(0, 2)).toEqual([1_000, 3_000]);
      expect(await agent.get('github')).toMatchObject({
        status: 502,
        json: { code: 'WEBHOOK_NOT_CONFIGURED' },
      });
      service.webhook.fault = undefined;
      const { json } = await service.admin('GET', '/api/webhook');
      expect(json).toMatchObject({ bound: true, reachable: true, webhookId: service.webhook.webhookId });
      expect((await agent.get('github')).status).toBe(307);
    },
  );

  it('stores the key before the webhook completes the binding', async () => {
    let storedAtHealth: unknown;
    service.webhook.fault = async (path) => {
      if (path === '/v1/health')
        storedAtHealth ??= await service.place.state.value('SELECT webhook_id FROM webhook_links');
      return undefined;
    };
    await service.bind();
    expect(storedAtHealth).toBe(service.webhook.webhookId);
  });

  it('never retries an exchange', async () => {
    let tries = 0;
    service.webhook.fault = () => (tries++, 'break');
    await service.bind();
    expect(tries).toBe(1);
  });

  it('answers 409 while a webhook is bound, and binds again after an unbinding', async () => {
    await service.bind();
    expect(await service.bind()).toMatchObject({ status: 409, json: { code: 'CONFLICT' } });
    expect((await service.admin('DELETE', '/api/webhook')).status).toBe(204);
    expect((await service.admin('DELETE', '/api/webhook')).status).toBe(404);
    expect((await service.bind()).status).toBe(201);
  });

  it('completes one of two concurrent bindings', async () => {
    const offer = service.webhook.offer();
    const bind = () => service.admin('POST', '/api/webhook/bind', { body: offer });
    const statuses = (await Promise.all([bind(), bind()])).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 409]);
  });

  it('answers 423 while the vault is locked', async () => {
    await service.admin('POST', '/api/vault/lock');
    expect(await service.bind()).toMatchObject({ status: 423, json: { code: 'VAULT_LOCKED' } });
    await service.admin('POST', '/api/vault/unlock');
  });

  it.each([
    ['code', 'not-a-uuid'],
    ['code', randomUUID().toUpperCase()],
    ['hmacHash', 'A'.repeat(64)],
    ['hmacHash', 'ab'],
    ['webhookUrl', 'ftp://example.org'],
    ['surprise', 1],
  ])('rejects %s = %j without a call', async (member, value) => {
    const answer = await bindWith({ [member]: value });
    expect(answer).toMatchObject({ status: 422, json: { code: 'INVALID_ARGUMENT' } });
    expect(answer.json.issues).toMatchObject([{ path: member }]);
  });
});
