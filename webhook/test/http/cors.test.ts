import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type WebhookFixture,
  type ServiceSide,
  startFixture,
  storePlain,
  storeTicket,
} from '../support/webhook-fixture.ts';

let fixture: WebhookFixture;
let side: ServiceSide;
beforeEach(async () => {
  fixture = await startFixture();
  side = await fixture.bind();
});
afterEach(() => fixture.stop());

/** Scheme, host and port of the service's base URL, which has a path as well. */
const ORIGIN = 'https://vault.example';
const corsHeaders = (headers: object): string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

describe('CORS of /v1/store', () => {
  it('answers the preflight of the bound origin', async () => {
    const { status, headers, text } = await fixture.send({
      method: 'OPTIONS',
      path: '/v1/store',
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    });
    expect([status, text]).toEqual([204, '']);
    expect(headers['access-control-allow-origin']).toBe(ORIGIN);
    expect(headers['access-control-allow-methods']).toBe('POST');
    expect(headers['access-control-allow-headers']).toBe('authorization, content-type');
    expect(headers['vary']).toBe('Origin');
    expect(headers['access-control-allow-credentials']).toBeUndefined();
  });

  // spec: POST /v1/store | browser | Direct credential storage with a signed ticket issued by the service.
  it('lets the bound origin read every answer, errors too', async () => {
    const ticket = storeTicket(fixture, side);
    const stored = await storePlain(fixture, ticket, { origin: ORIGIN });
    const replayed = await storePlain(fixture, ticket, { origin: ORIGIN });
    const wrongMethod = await fixture.send({ method: 'PUT', path: '/v1/store', headers: { origin: ORIGIN } });
    const large = await fixture.send({
      method: 'POST',
      path: '/v1/store',
      headers: { origin: ORIGIN, 'content-type': 'application/json' },
      body: Buffer.alloc(1024 * 1024 + 1, 32),
    });
    expect([stored.status, replayed.status, wrongMethod.status, large.status]).toEqual([200, 401, 405, 413]);
    for (const { headers } of [stored, replayed, wrongMethod, large]) {
      expect([headers['access-control-allow-origin'], headers['vary']]).toEqual([ORIGIN, 'Origin']);
    }
  });

  it.each([
    'null',
    'https://vault.example:8443',
    'http://vault.example',
    'https://VAULT.example',
    'https://vault.example/base',
    'https://vault.example.evil.test',
    'https://evil.test',
    '',
  ])('refuses the origin %j and leaves the ticket unused', async (origin) => {
    const ticket = storeTicket(fixture, side);
    const refused = await storePlain(fixture, ticket, { origin });
    expect([refused.status, refused.json.code]).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    expect(corsHeaders(refused.headers)).toEqual([]);
    expect((await storePlain(fixture, ticket)).status).toBe(200);
  });

  it('refuses two origins and the preflight of another one', async () => {
    const twice = await fixture.send({
      method: 'POST',
      path: '/v1/store',
      rawHeaders: ['origin', ORIGIN, 'origin', ORIGIN],
    });
    expect(twice.json.code).toBe('ORIGIN_NOT_ALLOWED');
    const preflight = await fixture.send({
      method: 'OPTIONS',
      path: '/v1/store',
      headers: { origin: 'https://evil.test', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(403);
    expect(corsHeaders(preflight.headers)).toEqual([]);
  });

  it('serves programs, which send no origin; their OPTIONS is no preflight', async () => {
    const stored = await storePlain(fixture, storeTicket(fixture, side));
    expect(stored.status).toBe(200);
    expect(corsHeaders(stored.headers)).toEqual([]);
    const options = await fixture.send({ method: 'OPTIONS', path: '/v1/store' });
    expect([options.status, options.headers.allow]).toEqual([405, 'POST']);
  });

  it('knows no origin before a binding is complete', async () => {
    const unbound = await startFixture();
    try {
      const answer = await storePlain(unbound, 'a.b.c', { origin: ORIGIN });
      expect(answer.json.code).toBe('ORIGIN_NOT_ALLOWED');
    } finally {
      await unbound.stop();
    }
  });
});

describe('pages in a browser', () => {
  it('read no credential: that endpoint has no CORS', async () => {
    const answer = await fixture.send({ path: '/v1/credential', headers: { origin: ORIGIN } });
    expect(corsHeaders(answer.headers)).toEqual([]);
  });
});
