import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BoundWebhook, SERVICE_URL, boundWebhook } from '../support/bound-webhook.ts';

let webhook: BoundWebhook;
beforeAll(async () => {
  webhook = await boundWebhook();
});
afterAll(() => webhook.remove());

const PLAIN = { tokenType: 'PlainText', value: 'v' };
const INVALID = { status: 400, json: { code: 'INVALID_REQUEST' } };
/** A point of P-256: RFC 7517 appendix A.1. */
const RECIPIENT = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
};

async function metadata(serviceName: string): Promise<unknown> {
  return (await webhook.storage({ op: 'tokens.get', serviceName })).json;
}

describe('POST /v1/store', () => {
  it('counts versions up and keeps createdAt', async () => {
    expect((await webhook.store('versions', PLAIN)).json).toEqual({ serviceName: 'versions', version: 1 });
    const first = (await metadata('versions')) as { createdAt: string };
    webhook.clock.advance(5_000);
    expect((await webhook.store('versions', PLAIN)).json.version).toBe(2);
    expect(await metadata('versions')).toMatchObject({ version: 2, createdAt: first.createdAt });
    expect((await metadata('versions')) as object).not.toMatchObject({ updatedAt: first.createdAt });
  });

  it('replaces only the version that the ticket names', async () => {
    expect((await webhook.store('guarded', PLAIN, { ifv: 1 })).json.code).toBe('VERSION_CONFLICT');
    expect((await webhook.store('guarded', PLAIN, { ifv: 0 })).json.version).toBe(1);
    const conflict = await webhook.store('guarded', { ...PLAIN, value: 'other' }, { ifv: 0 });
    expect(conflict).toMatchObject({ status: 409, json: { code: 'VERSION_CONFLICT' } });
    expect((await webhook.credential('guarded')).json.token.accessToken).toBe('v');
    expect((await webhook.store('guarded', PLAIN, { ifv: 1 })).json.version).toBe(2);
  });

  it('never reuses a version, not after deletion either', async () => {
    await webhook.store('reborn', PLAIN);
    await webhook.storage({ op: 'tokens.delete', serviceName: 'reborn' });
    expect((await webhook.store('reborn', PLAIN, { ifv: 0 })).json.version).toBe(2);
  });

  it('carries nothing over from the former record', async () => {
    const restricted = { ...PLAIN, allowedHosts: ['api.test'], delivery: 'proxy-only' };
    await webhook.store('bare', restricted);
    await webhook.store('bare', PLAIN);
    expect(await metadata('bare')).toMatchObject({
      delivery: 'any',
      allowedHosts: [],
      allowedHeaders: ['authorization', 'x-api-key'],
    });
  });

  it('shows the provider without its secret', async () => {
    await webhook.store('oauth', {
      tokenType: 'JWT',
      accessToken: 'a',
      refreshToken: 'r',
      expiryTime: '2030-01-01T00:00:00Z',
      provider: {
        tokenUrl: 'https://p.test/t',
        clientId: 'c',
        clientSecret: 'the-client-secret',
        scope: 's',
      },
    });
    expect(await metadata('oauth')).toMatchObject({
      tokenType: 'JWT',
      hasRefreshToken: true,
      empty: false,
      expiryTime: '2030-01-01T00:00:00.000Z',
      provider: {
        tokenUrl: 'https://p.test/t',
        clientId: 'c',
        authMethod: 'client_secret_basic',
        mediated: false,
      },
    });
    expect(JSON.stringify(await metadata('oauth'))).not.toContain('the-client-secret');
  });

  it.each([
    ['an unknown member', { ...PLAIN, allowedHost: ['a.test'] }],
    ['a missing secret field', { tokenType: 'PlainText' }],
    ['a certificate without its key', { tokenType: 'Certificate', certificate: 'c' }],
    ['an unknown type', { tokenType: 'Password', value: 'v' }],
    ['a seed that is no base32', { tokenType: 'TOTP', secret: 'JBSWY3DPEHPK3PX1' }],
    ['a minter that nobody claims', { tokenType: 'RawCredential', minter: { type: 'azure', secret: 's' } }],
    [
      'a restriction that would restrict nothing',
      {
        tokenType: 'RawCredential',
        minter: { type: 'aws-sts', accessKeyId: 'a', secretAccessKey: 's', sessionPolicy: '{}' },
      },
    ],
    ['recipients without sealed', { ...PLAIN, recipients: [RECIPIENT] }],
    ['sealed without recipients', { ...PLAIN, delivery: 'sealed' }],
    ['no recipient', { ...PLAIN, delivery: 'sealed', recipients: [] }],
    ['a private recipient', { ...PLAIN, delivery: 'sealed', recipients: [{ ...RECIPIENT, d: RECIPIENT.x }] }],
    [
      'a recipient off the curve',
      { ...PLAIN, delivery: 'sealed', recipients: [{ ...RECIPIENT, y: RECIPIENT.x }] },
    ],
    ['* with proxy-only', { ...PLAIN, delivery: 'proxy-only', allowedHosts: ['*'] }],
    ['* with sealed', { ...PLAIN, delivery: 'sealed', recipients: [RECIPIENT], allowedHosts: ['*'] }],
    ['a host with a trailing dot', { ...PLAIN, allowedHosts: ['api.test.'] }],
    ['a host pattern', { ...PLAIN, allowedHosts: ['*.test'] }],
    ['a header that is no token', { ...PLAIN, allowedHeaders: ['x y'] }],
    ['a secret above 64 KiB', { ...PLAIN, value: 'é'.repeat(32 * 1024 + 1) }],
    ['a time without zone', { ...PLAIN, expiryTime: '2030-01-01T00:00:00' }],
    [
      'private_key_jwt that is not mediated',
      {
        tokenType: 'JWT',
        accessToken: 'a',
        provider: { tokenUrl: 'https://p.test/t', clientId: 'c', authMethod: 'private_key_jwt' },
      },
    ],
    ['no JSON', '{"tokenType":'],
    ['an array', '[]'],
    ['a name twice', '{"tokenType":"PlainText","value":"a","value":"b"}'],
    ['a body that is 40 deep', `{"a":${'['.repeat(40)}${']'.repeat(40)}}`],
  ])('refuses %s and changes nothing', async (_what, body) => {
    await webhook.store('kept', { ...PLAIN, value: 'kept' });
    const before = await metadata('kept');
    expect(await webhook.store('kept', body)).toMatchObject(INVALID);
    expect(await metadata('kept')).toEqual(before);
  });

  it('uses the ticket up by a refusal, and takes it once', async () => {
    const ticket = webhook.storeTicket('used');
    const post = (body: string) =>
      webhook.send('/v1/store', {
        method: 'POST',
        headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json' },
        body,
      });
    expect(await post('{}')).toMatchObject(INVALID);
    expect(await post(JSON.stringify(PLAIN))).toMatchObject({
      status: 401,
      json: { code: 'TICKET_INVALID' },
    });
  });

  it('asks for JSON, reads at most 1 MiB and no compressed body', async () => {
    const post = (headers: Record<string, string>, body: string, ticket = webhook.storeTicket('typed')) =>
      webhook.send('/v1/store', {
        method: 'POST',
        headers: { authorization: `Bearer ${ticket}`, ...headers },
        body,
      });
    expect(await post({ 'content-type': 'text/plain' }, JSON.stringify(PLAIN))).toMatchObject(INVALID);
    expect(
      (await post({ 'content-type': 'application/json; charset=utf-8' }, JSON.stringify(PLAIN))).status,
    ).toBe(200);
    const ticket = webhook.storeTicket('typed');
    const large = await post({ 'content-type': 'application/json' }, 'x'.repeat(1024 * 1024 + 1), ticket);
    expect(large).toMatchObject({ status: 413, json: { code: 'TOO_LARGE' } });
    const packed = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    expect(await post(packed, 'x', ticket)).toMatchObject(INVALID);
    // Size and coding are looked at before the ticket is.
    expect((await post({ 'content-type': 'application/json' }, JSON.stringify(PLAIN), ticket)).status).toBe(
      200,
    );
  });

  it('answers other methods 405 with Allow, using up nothing', async () => {
    const headers = { authorization: `Bearer ${webhook.storeTicket('used')}` };
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const refused = await webhook.send('/v1/store', { method, headers });
      expect([method, refused.status, refused.headers.get('allow')]).toEqual([method, 405, 'POST']);
    }
    const init = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(PLAIN),
    };
    expect((await webhook.send('/v1/store', init)).status).toBe(200);
  });

  it('lets pages of the bound service read every answer and no others ask', async () => {
    const post = (origin: string, ticket: string) =>
      webhook.send('/v1/store', {
        method: 'POST',
        headers: { authorization: `Bearer ${ticket}`, 'content-type': 'application/json', origin },
        body: JSON.stringify(PLAIN),
      });
    const ticket = webhook.storeTicket('cors');
    const foreign = await post('https://evil.test', ticket);
    expect(foreign).toMatchObject({ status: 403, json: { code: 'ORIGIN_NOT_ALLOWED' } });
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
    const own = await post(SERVICE_URL, ticket);
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([200, SERVICE_URL]);
    const again = await post(SERVICE_URL, ticket);
    expect([again.status, again.headers.get('access-control-allow-origin')]).toEqual([401, SERVICE_URL]);
  });
});
