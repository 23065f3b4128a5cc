import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { type Credential, type ProxyFixture, proxyTest as test } from './proxy-fixture.ts';
import { spec } from '@svault/test-kit/spec';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' });

/** What an agent gets for a stored credential. */
async function delivered(
  fixture: ProxyFixture,
  serviceName: string,
  credential: Credential,
): Promise<Record<string, unknown>> {
  // These are delivered; a proxy would not inject ones so short.
  await fixture.store(serviceName, { ...credential, allowedHosts: [] });
  return fetched(fixture, serviceName);
}

async function fetched(fixture: ProxyFixture, serviceName: string): Promise<Record<string, unknown>> {
  const { status, json } = await (await fixture.agent(serviceName)).fetch(serviceName);
  expect([status, json]).toEqual([200, { token: json.token }]);
  return json.token as Record<string, unknown>;
}

/** One of each type (RFC 6238's seed among them), and what its envelope has beside what all have. */
const TYPES = [
  [{ tokenType: 'JWT', accessToken: 'at', refreshToken: 'rt' }, 'at', ['refreshToken']],
  [{ tokenType: 'PlainText', value: 'a text' }, 'a text', []],
  [{ tokenType: 'Certificate', certificate: 'a chain', privateKey: 'a key' }, 'a chain', ['privateKey']],
  [{ tokenType: 'SSHKey', privateKey: 'a key', publicKey: 'ssh-ed25519 AAAA' }, 'a key', ['publicKey']],
  [{ tokenType: 'RawCredential', value: '\u0000 raw' }, '\u0000 raw', []],
  [{ tokenType: 'TOTP', secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' }, /^\d{6}$/, ['expiresIn']],
] as const;
const COMMON = ['accessToken', 'createdAt', 'serviceName', 'tokenType'];

test(
  'a delivered credential has accessToken, serviceName, tokenType and createdAt, and refreshToken where there is one',
  spec(
    'token.accessToken | string',
    'token.refreshToken | string',
    'token.serviceName | string',
    'token.tokenType | string',
    'token.createdAt | ISO 8601 timestamp',
  ),
  async ({ fixture }) => {
    const token = await delivered(fixture, 'fields', {
      tokenType: 'JWT',
      accessToken: 'at',
      refreshToken: 'rt',
    });
    const createdAt = new Date(fixture.pair.clock.now()).toISOString();
    expect(token).toEqual({
      accessToken: 'at',
      refreshToken: 'rt',
      serviceName: 'fields',
      tokenType: 'JWT',
      createdAt,
    });
  },
);

test(
  'the fields of a delivered credential depend on its type',
  spec('The exact fields depend on the token type.'),
  async ({ fixture }) => {
    for (const [n, [credential, accessToken, more]] of TYPES.entries()) {
      const token = await delivered(fixture, `by-type-${n}`, credential);
      expect([credential.tokenType, Object.keys(token).toSorted()]).toEqual([
        credential.tokenType,
        [...COMMON, ...more].toSorted(),
      ]);
      expect(token['tokenType']).toBe(credential.tokenType);
      if (typeof accessToken === 'string') expect(token['accessToken']).toBe(accessToken);
      else expect(token['accessToken']).toMatch(accessToken);
    }
  },
);

test(
  'a TOTP credential is delivered as the current one-time code',
  spec('A TOTP token returns the current one-time code as accessToken.'),
  async ({ fixture }) => {
    const uri =
      'otpauth://totp/a:b?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=a&digits=8&algorithm=SHA1&period=30';
    await fixture.store('totp', { tokenType: 'TOTP', otpauthUri: uri, allowedHosts: [] });
    // RFC 6238, appendix B; a code holds to the end of its period.
    const { clock } = fixture.pair;
    clock.jump(2_000_000_000_000 - clock.now());
    const codes: unknown[] = [];
    for (const seconds of [0, 9, 1]) {
      fixture.wait(seconds * 1_000);
      const { accessToken, expiresIn } = await fetched(fixture, 'totp');
      codes.push([accessToken, expiresIn]);
    }
    expect(codes.slice(0, 2)).toEqual([
      ['69279037', 10],
      ['69279037', 1],
    ]);
    expect(codes[2]).toEqual([expect.stringMatching(/^(?!69279037)\d{8}$/), 30]);
  },
);

test(
  'a raw cloud credential is delivered as a short-lived minted token',
  spec('A raw cloud credential returns a short-lived minted token.'),
  async ({ fixture }) => {
    const { pair } = fixture;
    let calls = 0;
    const cloud = createServer((_req, res) => {
      calls += 1;
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ access_token: `minted-${calls}`, expires_in: 3_600, token_type: 'Bearer' }));
    }).listen(0, '127.0.0.1');
    await once(cloud, 'listening');
    try {
      const tokenUri = `http://127.0.0.1:${(cloud.address() as AddressInfo).port}/token`;
      const minter = {
        type: 'gcp-service-account',
        clientEmail: 'robot@project.iam.gserviceaccount.com',
        privateKey: PEM,
        tokenUri,
        scopes: ['email'],
      };
      const token = await delivered(fixture, 'cloud', { tokenType: 'RawCredential', minter });
      expect(token).toMatchObject({
        accessToken: 'minted-1',
        tokenType: 'RawCredential',
        expiryTime: new Date(pair.clock.now() + 3_600_000).toISOString(),
      });
      // Short-lived: once it is used up there is another.
      fixture.wait(3_600_000);
      expect((await fetched(fixture, 'cloud'))['accessToken']).toBe('minted-2');
    } finally {
      cloud.closeAllConnections();
      cloud.close();
    }
  },
);

test(
  'a credential has one of six types',
  spec(
    'JWT (OAuth/JWT), PlainText (API key or PAT), Certificate (X.509), SSHKey, RawCredential (raw blob), TOTP (2FA).',
  ),
  async ({ fixture }) => {
    const names = TYPES.map(([{ tokenType }]) => tokenType);
    expect(names).toHaveLength(6);
    for (const tokenType of [...names, 'plaintext', 'Password', '']) {
      const body = { serviceName: `types-${tokenType}`, tokenType };
      const known = (names as readonly string[]).includes(tokenType);
      expect([tokenType, (await fixture.admin('POST', '/api/tokens', { body })).status]).toEqual([
        tokenType,
        known ? 201 : 422,
      ]);
    }
  },
);

test(
  'the metadata of a credential has a service name, a display name, notes and tags',
  spec('Token metadata carries at least a service name, a display name, notes and tags.'),
  async ({ fixture }) => {
    const metadata = { displayName: 'Ours', notes: 'two\nlines', tags: ['ci', 'prod'] };
    const body = { serviceName: 'described', tokenType: 'PlainText', ...metadata };
    expect((await fixture.admin('POST', '/api/tokens', { body })).json.token).toMatchObject(body);
    const changed = { notes: '', tags: [] };
    await fixture.admin('PATCH', '/api/tokens/described', { body: changed });
    const { json } = await fixture.admin('GET', '/api/tokens/described');
    expect(json).toMatchObject({ serviceName: 'described', displayName: 'Ours', ...changed });
  },
);
