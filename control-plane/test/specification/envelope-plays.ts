import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import type { Credential, ProxyPlay, ProxyScene } from './proxy-scene.ts';
import type { Row } from './row.ts';
import type { ENVELOPE_ROWS } from './webhook-rows.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' });

/** What an agent gets for a stored credential. */
async function delivered(
  scene: ProxyScene,
  serviceName: string,
  credential: Credential,
): Promise<Record<string, unknown>> {
  // These are delivered; a proxy would not inject ones so short.
  await scene.store(serviceName, { ...credential, allowedHosts: [] });
  return fetched(scene, serviceName);
}

async function fetched(scene: ProxyScene, serviceName: string): Promise<Record<string, unknown>> {
  const { status, json } = await (await scene.agent(serviceName)).fetch(serviceName);
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

export const ENVELOPE_PLAYS = {
  fields: async (scene) => {
    const token = await delivered(scene, 'fields', {
      tokenType: 'JWT',
      accessToken: 'at',
      refreshToken: 'rt',
    });
    const createdAt = new Date(scene.pair.clock.now()).toISOString();
    expect(token).toEqual({
      accessToken: 'at',
      refreshToken: 'rt',
      serviceName: 'fields',
      tokenType: 'JWT',
      createdAt,
    });
  },

  'by type': async (scene) => {
    for (const [n, [credential, accessToken, more]] of TYPES.entries()) {
      const token = await delivered(scene, `by-type-${n}`, credential);
      expect([credential.tokenType, Object.keys(token).toSorted()]).toEqual([
        credential.tokenType,
        [...COMMON, ...more].toSorted(),
      ]);
      expect(token['tokenType']).toBe(credential.tokenType);
      if (typeof accessToken === 'string') expect(token['accessToken']).toBe(accessToken);
      else expect(token['accessToken']).toMatch(accessToken);
    }
  },

  TOTP: async (scene) => {
    const uri =
      'otpauth://totp/a:b?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=a&digits=8&algorithm=SHA1&period=30';
    await scene.store('totp', { tokenType: 'TOTP', otpauthUri: uri, allowedHosts: [] });
    // RFC 6238, appendix B; a code holds to the end of its period.
    const { clock } = scene.pair;
    clock.jump(2_000_000_000_000 - clock.now());
    const codes: unknown[] = [];
    for (const seconds of [0, 9, 1]) {
      scene.wait(seconds * 1_000);
      const { accessToken, expiresIn } = await fetched(scene, 'totp');
      codes.push([accessToken, expiresIn]);
    }
    expect(codes.slice(0, 2)).toEqual([
      ['69279037', 10],
      ['69279037', 1],
    ]);
    expect(codes[2]).toEqual([expect.stringMatching(/^(?!69279037)\d{8}$/), 30]);
  },

  minted: async (scene) => {
    const { pair } = scene;
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
      const token = await delivered(scene, 'cloud', { tokenType: 'RawCredential', minter });
      expect(token).toMatchObject({
        accessToken: 'minted-1',
        tokenType: 'RawCredential',
        expiryTime: new Date(pair.clock.now() + 3_600_000).toISOString(),
      });
      // Short-lived: once it is used up there is another.
      scene.wait(3_600_000);
      expect((await fetched(scene, 'cloud'))['accessToken']).toBe('minted-2');
    } finally {
      cloud.closeAllConnections();
      cloud.close();
    }
  },

  types: async (scene, row) => {
    const names = TYPES.map(([{ tokenType }]) => tokenType);
    expect(row.says.split(/[,.] ?/).flatMap((part) => part.split(' ')[0] || [])).toEqual(
      expect.arrayContaining(names),
    );
    for (const tokenType of [...names, 'plaintext', 'Password', '']) {
      const body = { serviceName: `types-${tokenType}`, tokenType };
      const known = (names as readonly string[]).includes(tokenType);
      expect([tokenType, (await scene.admin('POST', '/api/tokens', { body })).status]).toEqual([
        tokenType,
        known ? 201 : 422,
      ]);
    }
  },

  metadata: async (scene) => {
    const metadata = { displayName: 'Ours', notes: 'two\nlines', tags: ['ci', 'prod'] };
    const body = { serviceName: 'described', tokenType: 'PlainText', ...metadata };
    expect((await scene.admin('POST', '/api/tokens', { body })).json.token).toMatchObject(body);
    const changed = { notes: '', tags: [] };
    await scene.admin('PATCH', '/api/tokens/described', { body: changed });
    const { json } = await scene.admin('GET', '/api/tokens/described');
    expect(json).toMatchObject({ serviceName: 'described', displayName: 'Ours', ...changed });
  },
} as const satisfies Record<keyof typeof ENVELOPE_ROWS, ProxyPlay<Row>>;
