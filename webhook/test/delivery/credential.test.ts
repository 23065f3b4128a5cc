import { generateKeyPairSync } from 'node:crypto';
import Database from 'better-sqlite3';
import { calculateJwkThumbprint, compactDecrypt, exportJWK, importJWK, type JWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { credentialEnvelopeSchema } from '@svault/shared/schemas';
import { formatTime } from '@svault/shared';
import { type BoundWebhook, OWNER, boundWebhook } from '../support/bound-webhook.ts';

let webhook: BoundWebhook;
beforeAll(async () => {
  webhook = await boundWebhook({ env: { SV_METRICS_LISTEN: '127.0.0.1:0' } });
});
afterAll(() => webhook.remove());

const PROVIDER = {
  // Refused before any connection: nothing here waits for a resolver.
  tokenUrl: 'https://127.0.0.1/token',
  clientId: 'client',
  clientSecret: 'client-secret-x',
};

async function stored(name: string, body: object): Promise<void> {
  expect(await webhook.store(name, body)).toMatchObject({ status: 200 });
}

describe('GET /v1/credential', () => {
  // spec: token.accessToken | string
  // spec: token.refreshToken | string
  // spec: token.serviceName | string
  // spec: token.tokenType | string
  // spec: token.createdAt | ISO 8601 timestamp
  // spec: The exact fields depend on the token type.
  it('delivers each type as the table says', async () => {
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    const cases = [
      [{ tokenType: 'PlainText', value: 'ghp_plain' }, { accessToken: 'ghp_plain' }],
      [
        { tokenType: 'JWT', accessToken: 'at', refreshToken: 'rt' },
        { accessToken: 'at', refreshToken: 'rt' },
      ],
      [
        { tokenType: 'Certificate', certificate: 'CERT', privateKey: 'KEY' },
        { accessToken: 'CERT', privateKey: 'KEY' },
      ],
      [
        { tokenType: 'SSHKey', privateKey: pem },
        {
          accessToken: pem,
          publicKey: expect.stringMatching(/^ssh-ed25519 AAAA/),
          fingerprint: expect.stringMatching(/^SHA256:[A-Za-z0-9+/]{43}$/),
        },
      ],
      [{ tokenType: 'RawCredential', value: '{"any":1}' }, { accessToken: '{"any":1}' }],
    ] as const;
    for (const [body, expected] of cases) {
      const name = `typed ${body.tokenType}`;
      await stored(name, body);
      const { status, json, headers } = await webhook.credential(name);
      expect(status).toBe(200);
      expect(json.token).toEqual({
        serviceName: name,
        tokenType: body.tokenType,
        createdAt: formatTime(webhook.clock.now()),
        ...expected,
      });
      credentialEnvelopeSchema.parse(json);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it('takes a ticket once, in the query or as bearer', async () => {
    await stored('once', { tokenType: 'PlainText', value: 'v' });
    const inQuery = webhook.credentialTicket('once');
    expect((await webhook.send(`/v1/credential?ticket=${inQuery}`)).status).toBe(200);
    expect((await webhook.send(`/v1/credential?ticket=${inQuery}`)).json).toEqual({
      error: 'the ticket is not valid; ask the service for a new one',
      code: 'TICKET_INVALID',
    });
    const headers = { authorization: `Bearer ${webhook.credentialTicket('once')}` };
    expect((await webhook.send('/v1/credential', { headers })).status).toBe(200);
    expect((await webhook.send('/v1/credential', { headers })).status).toBe(401);
  });

  it('serves one of many parallel uses, and none after a restart', async () => {
    await stored('raced', { tokenType: 'PlainText', value: 'v' });
    const ticket = webhook.credentialTicket('raced');
    const uses = Array.from({ length: 20 }, () => webhook.send(`/v1/credential?ticket=${ticket}`));
    const statuses = (await Promise.all(uses)).map(({ status }) => status);
    expect(statuses.sort((a, b) => a - b)).toEqual([200, ...Array<number>(19).fill(401)]);
    await webhook.restart();
    expect((await webhook.send(`/v1/credential?ticket=${ticket}`)).status).toBe(401);
  });

  it('uses a ticket up by a refusal too, and nothing by a wrong method', async () => {
    const ticket = webhook.credentialTicket('comes later');
    expect((await webhook.send(`/v1/credential?ticket=${ticket}`)).json.code).toBe('NOT_FOUND');
    await stored('comes later', { tokenType: 'PlainText', value: 'v' });
    expect((await webhook.send(`/v1/credential?ticket=${ticket}`)).status).toBe(401);

    const unused = webhook.credentialTicket('comes later');
    for (const method of ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const refused = await webhook.send(`/v1/credential?ticket=${unused}`, { method });
      expect([method, refused.status, refused.headers.get('allow')]).toEqual([method, 405, 'GET']);
    }
    expect((await webhook.send(`/v1/credential?ticket=${unused}`)).status).toBe(200);
  });

  it('refuses two tickets, no ticket, and tickets of another operation', async () => {
    const ticket = webhook.credentialTicket('once');
    for (const path of [
      `/v1/credential?ticket=${ticket}&ticket=${ticket}`,
      '/v1/credential',
      '/v1/credential?ticket=',
      `/v1/credential?ticket=${webhook.storeTicket('once')}`,
    ])
      expect((await webhook.send(path)).json).toEqual({
        error: 'the ticket is not valid; ask the service for a new one',
        code: 'TICKET_INVALID',
      });
  });

  it('ignores keys that arrive beside a ticket, and counts them', async () => {
    await stored('stray', { tokenType: 'PlainText', value: 'v' });
    const headers = { authorization: 'Bearer svagent_x', 'x-agent-key': 'svagent_x', 'x-mcp-key': 'mcp_x' };
    const path = `/v1/credential?ticket=${webhook.credentialTicket('stray')}`;
    expect((await webhook.send(path, { headers })).status).toBe(200);
    const metrics = await (await fetch(`${webhook.metricsUrl}/metrics`)).text();
    for (const header of Object.keys(headers))
      expect(metrics).toMatch(new RegExp(`stray_credentials_total\\{header="${header}"[^}]*\\} 1`));
  });

  it('shares a refresh token only where the record and the grant say so', async () => {
    const jwt = { tokenType: 'JWT', accessToken: 'at', refreshToken: 'rt' };
    const shared = async (body: object, rfp: 'none' | 'auto'): Promise<unknown> => {
      await stored('share', body);
      return (await webhook.credential('share', { rfp })).json.token.refreshToken;
    };
    expect(await shared(jwt, 'none')).toBe('rt');
    expect(await shared(jwt, 'auto')).toBeUndefined();
    expect(await shared({ ...jwt, shareRefreshToken: false }, 'none')).toBeUndefined();
    expect(await shared({ ...jwt, provider: PROVIDER }, 'none')).toBeUndefined();
    expect(await shared({ ...jwt, provider: PROVIDER, shareRefreshToken: true }, 'none')).toBe('rt');
    expect(await shared({ ...jwt, provider: PROVIDER, shareRefreshToken: true }, 'auto')).toBeUndefined();
  });

  it('never hands out an expired token that could be refreshed', async () => {
    const at = (seconds: number): string => formatTime(webhook.clock.now() + seconds * 1000);
    const jwt = { tokenType: 'JWT', accessToken: 'at', refreshToken: 'rt', expiryTime: at(30) };
    const answer = async (body: object) => {
      await stored('expiring', body);
      return webhook.credential('expiring');
    };
    expect((await answer({ ...jwt, provider: { ...PROVIDER, mediated: true } })).json.code).toBe(
      'REFRESH_NEEDED',
    );
    const needed = await webhook.credential('expiring');
    expect([needed.status, needed.headers.get('retry-after')]).toEqual([409, '5']);
    expect(await answer({ ...jwt, provider: PROVIDER })).toMatchObject({
      status: 502,
      json: { code: 'PROVIDER_ERROR' },
    });
    expect((await answer({ ...jwt, provider: PROVIDER, expiryTime: at(31) })).status).toBe(200);
    expect((await answer(jwt)).json.token).toMatchObject({ accessToken: 'at', expiryTime: at(30) });
    const { refreshToken: _, ...noRefresh } = jwt;
    expect((await answer({ ...noRefresh, provider: PROVIDER })).status).toBe(200);
  });

  it('delivers nothing of a record that was changed on the disk, and uses the ticket up', async () => {
    await stored('tampered', {
      tokenType: 'PlainText',
      value: 'never delivered 0189',
      delivery: 'proxy-only',
      allowedHosts: ['a.test'],
    });
    const db = new Database(`${webhook.dataDir}/webhook.db`);
    const opened = `replace(settings, '"proxy-only"', '"any"')`;
    db.exec(`UPDATE records SET settings = ${opened} WHERE service_name = 'tampered'`);
    db.close();
    const path = `/v1/credential?ticket=${webhook.credentialTicket('tampered')}`;
    expect(await webhook.send(path)).toMatchObject({ status: 500, json: { code: 'INTERNAL' } });
    expect((await webhook.send(path)).json.code).toBe('TICKET_INVALID');
    const { json } = await webhook.storage({ op: 'audit.list', serviceName: 'tampered', limit: 1 });
    expect(json.items[0]).toMatchObject({ eventType: 'CREDENTIAL_DELIVERED', outcome: 'error' });
  });

  it('answers EMPTY_TOKEN for a record without a secret', async () => {
    await stored('empty', { tokenType: 'PlainText', value: '' });
    expect(await webhook.credential('empty')).toMatchObject({ status: 422, json: { code: 'EMPTY_TOKEN' } });
  });

  it('keeps proxy-only records in', async () => {
    await stored('proxied', {
      tokenType: 'PlainText',
      value: 'never delivered 0189',
      delivery: 'proxy-only',
      allowedHosts: ['a.test'],
    });
    const refused = await webhook.credential('proxied', { sub: OWNER });
    expect(refused).toMatchObject({ status: 403, json: { code: 'DELIVERY_NOT_ALLOWED' } });
  });
});

describe('sealed delivery', () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let recipient: JWK;
  let jkt: string;
  beforeAll(async () => {
    recipient = await exportJWK(pair.publicKey);
    jkt = await calculateJwkThumbprint(recipient, 'sha256');
    await stored('sealed', {
      tokenType: 'PlainText',
      value: 'for one only',
      delivery: 'sealed',
      recipients: [recipient],
    });
  });

  it('is a compact JWE for the recipient that the ticket names', async () => {
    const { status, headers, text } = await webhook.credential('sealed', { cnf: { jkt } });
    expect([status, headers.get('content-type')]).toEqual([200, 'application/jose']);
    expect(text).not.toContain('for one only');
    const key = await importJWK(await exportJWK(pair.privateKey), 'ECDH-ES');
    const { plaintext, protectedHeader } = await compactDecrypt(text, key);
    const { epk: _, ...header } = protectedHeader as Record<string, unknown>;
    expect(header).toEqual({ alg: 'ECDH-ES', enc: 'A256GCM', kid: jkt, cty: 'json' });
    const envelope = credentialEnvelopeSchema.parse(JSON.parse(new TextDecoder().decode(plaintext)));
    expect(envelope.token).toMatchObject({ accessToken: 'for one only', serviceName: 'sealed' });
  });

  it('is denied to every other key, for any subject of the ticket', async () => {
    const other = await calculateJwkThumbprint(
      await exportJWK(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey),
      'sha256',
    );
    for (const claims of [{}, { cnf: { jkt: other } }, { sub: OWNER }, { sub: OWNER, cnf: { jkt: other } }]) {
      const refused = await webhook.credential('sealed', claims);
      expect(refused).toMatchObject({ status: 403, json: { code: 'DELIVERY_NOT_ALLOWED' } });
      expect(refused.text).not.toContain('for one only');
    }
  });
});
