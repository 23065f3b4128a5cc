import { generateKeyPairSync } from 'node:crypto';
import { Writable } from 'node:stream';
import Database from 'better-sqlite3';
import { type JWTPayload, jwtVerify } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '@svault/server-kit/logger';
import { credentialEnvelopeSchema } from '@svault/shared/schemas';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { callProxy, putProxy } from '../support/proxy-calls.ts';
import {
  type Provider,
  type ProviderAnswer,
  type ProviderRequest,
  startProvider,
} from '../support/fake-provider.ts';
import { ACCESS_KEY, type FakeSts, startFakeSts, stsError } from '../support/fake-sts.ts';

const SEED = 'JBSWY3DPEHPK3PXP';
const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PKCS8 = RSA.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const PKCS1 = RSA.privateKey.export({ type: 'pkcs1', format: 'pem' }) as string;
const FAILED = { error: 'the credential could not be made', code: 'MINT_FAILED' };
const CANARIES = [SEED, ACCESS_KEY.secretAccessKey, PKCS8.slice(100, 160), PKCS1.slice(100, 160)];

let webhook: BoundWebhook;
let sts: FakeSts;
let provider: Provider;
/** How the provider of GCP and GitHub answers; some tests change it. */
let answerOfProvider: (request: ProviderRequest) => ProviderAnswer | Promise<ProviderAnswer>;
let answerOfSts: FakeSts['answer'];
const log: string[] = [];
const minted: string[] = [];

beforeAll(async () => {
  const logger = createLogger({
    name: 'webhook',
    level: 'trace',
    format: 'json',
    destination: new Writable({ write: (chunk: Buffer, _e, done) => (log.push(chunk.toString()), done()) }),
  });
  let now = (): number => 0;
  sts = await startFakeSts({ now: () => now() });
  answerOfSts = sts.answer;
  provider = await startProvider((request) => answerOfProvider(request));
  // The STS endpoint may be called because it is a setting of its own; the provider, because it is named.
  const env = {
    SV_AWS_STS_ENDPOINT: sts.url.replace('127.0.0.1', 'localhost'),
    SV_EGRESS_ALLOW: '127.0.0.1',
  };
  webhook = await boundWebhook({ env, logger });
  now = () => webhook.clock.now();
});
afterAll(async () => {
  await webhook.remove();
  await sts.stop();
  await provider.stop();
});
afterEach(() => {
  sts.answer = answerOfSts;
});

const aws = (more: object = {}) => ({
  tokenType: 'RawCredential',
  minter: { type: 'aws-sts', ...ACCESS_KEY, ...more },
});
const gcp = (more: object = {}) => ({
  tokenType: 'RawCredential',
  minter: {
    type: 'gcp-service-account',
    clientEmail: 'robot@project.iam.gserviceaccount.com',
    privateKey: PKCS8,
    tokenUri: `${provider.url}/token`,
    scopes: ['https://www.googleapis.com/auth/devstorage.read_only', 'email'],
    ...more,
  },
});
const github = (more: object = {}) => ({
  tokenType: 'RawCredential',
  minter: {
    type: 'github-app',
    appId: '12345',
    installationId: '678',
    privateKey: PKCS1,
    apiUrl: `${provider.url}/api/v3`,
    ...more,
  },
});

async function stored(name: string, body: object): Promise<void> {
  expect(await webhook.store(name, body)).toMatchObject({ status: 200 });
}

/** The token of one delivery, which has to succeed. */
async function delivered(name: string, claims: object = {}) {
  const { status, json } = await webhook.credential(name, claims);
  expect([status, json]).toMatchObject([200, { token: { serviceName: name } }]);
  const { token } = credentialEnvelopeSchema.parse(json);
  minted.push(token.accessToken);
  return token;
}

/** As a provider would: the assertion has to hold at the webhook's time. */
async function verified(jwt: string, options: { issuer: string; audience?: string }): Promise<JWTPayload> {
  const checks = {
    algorithms: ['RS256'],
    typ: 'JWT',
    currentDate: new Date(webhook.clock.now()),
    ...options,
  };
  return (await jwtVerify(jwt, RSA.publicKey, checks)).payload;
}

describe('a TOTP record', () => {
  it('delivers the code of the moment and for how long it holds', async () => {
    await stored('otp', { tokenType: 'TOTP', secret: 'jbsw y3dp-ehpk 3pxp==' });
    webhook.clock.advance(30_000 - (webhook.clock.now() % 30_000) + 4_000);
    const first = await delivered('otp');
    expect(first).toMatchObject({ tokenType: 'TOTP', expiresIn: 26 });
    expect(first.accessToken).toMatch(/^\d{6}$/);
    webhook.clock.advance(25_999);
    expect(await delivered('otp')).toMatchObject({ accessToken: first.accessToken, expiresIn: 1 });
    webhook.clock.advance(1);
    const next = await delivered('otp');
    expect(next.expiresIn).toBe(30);
    expect(next.accessToken).not.toBe(first.accessToken);
  });

  it('gives the same codes whether it was stored as a URI or in members', async () => {
    await stored('by uri', {
      tokenType: 'TOTP',
      otpauthUri: `otpauth://totp/a:b?secret=${SEED}&algorithm=SHA512&digits=8&period=77&issuer=a`,
    });
    await stored('by members', {
      tokenType: 'TOTP',
      secret: SEED,
      algorithm: 'SHA512',
      digits: 8,
      period: 77,
    });
    const token = await delivered('by uri');
    expect(token.accessToken).toMatch(/^\d{8}$/);
    const { accessToken, expiresIn } = token;
    expect(await delivered('by members')).toMatchObject({ accessToken, expiresIn });
  });

  it.each([
    [10, ['80']],
    [13, ['104']],
    [14, ['112']],
    [16, []],
    [20, []],
  ])(
    'with a seed of %i bytes is stored, and its answer warns of fewer than 128 bits',
    async (length, bits) => {
      const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'.slice(0, Math.ceil((length * 8) / 5));
      for (const fields of [{ secret }, { otpauthUri: `otpauth://totp/a?secret=${secret}` }]) {
        const { status, json, text } = await webhook.store('short', { tokenType: 'TOTP', ...fields });
        expect(status).toBe(200);
        const warnings = (json.warnings ?? []) as readonly string[];
        expect(warnings.map((each) => /has (\d+) bits; RFC 4226/.exec(each)?.[1])).toEqual(bits);
        expect(text).not.toContain(secret.slice(0, 6));
        expect((await delivered('short')).accessToken).toMatch(/^\d{6}$/);
      }
    },
  );

  it.each([{ secret: '' }, { otpauthUri: '' }])('is empty with %o', async (fields) => {
    await stored('no seed', { tokenType: 'TOTP', ...fields });
    expect((await webhook.credential('no seed')).json.code).toBe('EMPTY_TOKEN');
    expect((await webhook.storage({ op: 'tokens.get', serviceName: 'no seed' })).json.empty).toBe(true);
  });

  it.each([
    { secret: 'no base32!' },
    { otpauthUri: `otpauth://hotp/a?secret=${SEED}` },
    { secret: SEED, period: 0 },
  ])('is refused with %o, without its text in the answer', async (fields) => {
    const refused = await webhook.store('refused', { tokenType: 'TOTP', ...fields });
    expect(refused).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST' } });
    expect(refused.text).not.toMatch(/no base32!|JBSWY/);
  });
});

describe('an AWS record', () => {
  it('delivers what AWS’s tools read from a credential_process', async () => {
    await stored('aws role', aws({ roleArn: 'arn:aws:iam::123456789012:role/reader', region: 'us-east-1' }));
    const { accessToken, expiryTime, ...token } = await delivered('aws role');
    expect(token).toMatchObject({ tokenType: 'RawCredential' });
    expect(JSON.parse(accessToken)).toMatchObject({
      Version: 1,
      SessionToken: sts.issued.sessionToken,
      Expiration: expiryTime,
    });
    expect(sts.calls.at(-1)).toMatchObject({
      Action: 'AssumeRole',
      RoleSessionName: expect.stringMatching(/^agt_/),
    });
  });

  it('says MINT_FAILED when AWS refuses, writes it into the log, and tries again when asked again', async () => {
    await stored('aws refused', aws());
    sts.answer = () => stsError(403, 'AccessDenied', `no, ${ACCESS_KEY.secretAccessKey}`);
    expect(await webhook.credential('aws refused')).toMatchObject({ status: 422, json: FAILED });
    const { items } = (await webhook.storage({ op: 'audit.list', serviceName: 'aws refused' })).json;
    expect(items[0]).toMatchObject({
      eventType: 'CREDENTIAL_DELIVERED',
      outcome: 'denied',
      detail: { code: 'MINT_FAILED' },
    });
    expect(log.join('')).toContain('status 403, AccessDenied');
    sts.answer = answerOfSts;
    await delivered('aws refused');
  });

  it('is empty without a key', async () => {
    await stored('aws empty', aws({ secretAccessKey: '' }));
    expect((await webhook.credential('aws empty')).json.code).toBe('EMPTY_TOKEN');
  });
});

describe('a GCP record', () => {
  it('asks with an assertion signed by the service account', async () => {
    answerOfProvider = () => ({ body: JSON.stringify({ access_token: 'ya29.c.token', expires_in: 3599 }) });
    await stored('gcp', gcp());
    const from = webhook.clock.now();
    expect(await delivered('gcp')).toMatchObject({
      accessToken: 'ya29.c.token',
      expiryTime: new Date(from + 3_599_000).toISOString(),
    });
    const { url, method, headers, body } = provider.requests.at(-1)!;
    expect([method, url, headers['content-type']]).toEqual([
      'POST',
      '/token',
      'application/x-www-form-urlencoded',
    ]);
    const form = new URLSearchParams(body);
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const claims = await verified(form.get('assertion') ?? '', {
      issuer: 'robot@project.iam.gserviceaccount.com',
      audience: `${provider.url}/token`,
    });
    expect(claims['scope']).toBe('https://www.googleapis.com/auth/devstorage.read_only email');
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(3600);
  });

  it.each<[string, ProviderAnswer, string]>([
    [
      'a refusal',
      { status: 400, body: '{"error":"invalid_grant","error_description":"x"}' },
      'invalid_grant',
    ],
    ['a reason of its own', { status: 400, body: `{"error":"${SEED}"}` }, 'a reason that is not listed'],
    ['an error page', { status: 500, body: '<html>' }, 'status 500'],
    ['a redirect', { status: 307, headers: { location: 'http://127.0.0.1:9/' } }, 'status 307'],
    ['no JSON', { body: 'token' }, 'unreadable answer'],
    ['no token', { body: '{"expires_in":3599}' }, 'unreadable answer'],
    ['a token with a line feed', { body: '{"access_token":"a\\nb","expires_in":1}' }, 'unreadable answer'],
    ['a token that is no text', { body: '{"access_token":{},"expires_in":1}' }, 'unreadable answer'],
    ['a life that is none', { body: '{"access_token":"a","expires_in":-1}' }, 'unreadable answer'],
    ['too much', { body: `{"access_token":"${'x'.repeat(65 * 1024)}"}` }, 'too_large'],
    ['a broken connection', { status: 0 }, 'no answer: connect'],
  ])('fails by %s', async (what, answer, reason) => {
    await stored(`gcp ${what}`, gcp());
    answerOfProvider = () => answer;
    expect(await webhook.credential(`gcp ${what}`)).toMatchObject({ status: 422, json: FAILED });
    expect(log.at(-1)).toContain(reason);
  });

  it.each([
    ['no key', 'not a key'],
    ['a key too small', pem(1024)],
    ['a key of another kind', ec()],
    ['a public key', RSA.publicKey.export({ type: 'spki', format: 'pem' })],
  ])('is not stored with %s', async (_what, privateKey) => {
    const refused = await webhook.store('gcp key', gcp({ privateKey }));
    expect(refused).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST' } });
  });
});

describe('a GitHub App record', () => {
  it('asks for its installation’s token with what it is restricted to', async () => {
    const expires = new Date(webhook.clock.now() + 3_600_000).toISOString().replace('.000Z', 'Z');
    answerOfProvider = () => ({
      status: 201,
      body: JSON.stringify({ token: 'ghs_token', expires_at: expires }),
    });
    await stored('app', github({ permissions: { contents: 'read' }, repositories: ['one'] }));
    expect(await delivered('app')).toMatchObject({
      accessToken: 'ghs_token',
      expiryTime: expires.replace('Z', '.000Z'),
    });
    const { url, method, headers, body } = provider.requests.at(-1)!;
    expect([method, url]).toEqual(['POST', '/api/v3/app/installations/678/access_tokens']);
    expect(JSON.parse(body)).toEqual({ permissions: { contents: 'read' }, repositories: ['one'] });
    const claims = await verified(headers['authorization']?.replace('Bearer ', '') ?? '', {
      issuer: '12345',
    });
    // GitHub takes at most ten minutes.
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(600);
    expect((claims.iat ?? 0) * 1000).toBeLessThan(webhook.clock.now());
  });

  it.each<[string, ProviderAnswer]>([
    ['a refusal', { status: 401, body: '{"message":"bad credentials"}' }],
    ['no token', { status: 201, body: '{"expires_at":"2030-01-01T00:00:00Z"}' }],
    ['a time that is none', { status: 201, body: '{"token":"ghs_x","expires_at":"soon"}' }],
  ])('fails by %s', async (what, answer) => {
    await stored(`app ${what}`, github());
    answerOfProvider = () => answer;
    expect(await webhook.credential(`app ${what}`)).toMatchObject({ status: 422, json: FAILED });
  });
});

describe('what was minted', () => {
  it('is used again until two thirds of its life, for each caller on its own', async () => {
    await stored('kept', aws());
    const before = sts.calls.length;
    const first = await delivered('kept');
    webhook.clock.advance(2_399_000);
    expect((await delivered('kept')).accessToken).toBe(first.accessToken);
    const other = await delivered('kept', { sub: 'agt_BBBBBBBBBBBBBBBBBBBBBB' });
    expect(other.accessToken).not.toBe(first.accessToken);
    webhook.clock.advance(1_000);
    expect((await delivered('kept')).accessToken).not.toBe(first.accessToken);
    expect(sts.calls.length).toBe(before + 3);
  });

  it('is gone once its record is replaced, or deleted and stored again', async () => {
    await stored('gone', aws());
    const first = await delivered('gone');
    await stored('gone', aws({ durationSeconds: 900 }));
    expect((await delivered('gone')).accessToken).not.toBe(first.accessToken);
    expect(sts.calls.at(-1)).toMatchObject({ DurationSeconds: '900' });
    await webhook.storage({ op: 'tokens.delete', serviceName: 'gone' });
    expect((await webhook.credential('gone')).json.code).toBe('NOT_FOUND');
    const before = sts.calls.length;
    await stored('gone', aws());
    await delivered('gone');
    expect(sts.calls.length).toBe(before + 1);
  });

  it('is not delivered where its record is replaced, or gone, by the time it is there', async () => {
    const changes = {
      replaced: () => stored('replaced', aws({ durationSeconds: 900 })),
      gone: () => webhook.storage({ op: 'tokens.delete', serviceName: 'gone' }),
    };
    for (const [name, change] of Object.entries(changes)) {
      await stored(name, aws());
      sts.answer = async (call) => {
        await change();
        return answerOfSts(call);
      };
      const { status, json } = await webhook.credential(name);
      expect([name, status, json.code]).toEqual([name, 409, 'VERSION_CONFLICT']);
    }
  });

  it('is asked for once by a hundred who wait, and each of their tickets is used up', async () => {
    await stored('asked', aws());
    const before = sts.calls.length;
    const tickets = Array.from({ length: 100 }, () => webhook.credentialTicket('asked'));
    const send = (ticket: string) => webhook.send(`/v1/credential?ticket=${ticket}`);
    const answers = await Promise.all(tickets.map(send));
    expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(200));
    expect(new Set(answers.map(({ json }) => json.token.accessToken)).size).toBe(1);
    expect(sts.calls.length).toBe(before + 1);
    expect((await send(tickets[0]!)).status).toBe(401);
  });

  it('is delivered sealed where the record says so', async () => {
    const { createSealingKey, openSealed } = await import('@svault/shared/sealed');
    const key = createSealingKey();
    await stored('sealed otp', {
      tokenType: 'TOTP',
      secret: SEED,
      delivery: 'sealed',
      recipients: [key.publicJwk],
    });
    const { text } = await webhook.credential('sealed otp', { cnf: { jkt: key.thumbprint } });
    const { token } = (await openSealed(text, key)).reveal();
    expect(token).toMatchObject({ serviceName: 'sealed otp', tokenType: 'TOTP' });
    expect(token.expiresIn).toBeGreaterThan(0);
    expect((await webhook.credential('sealed otp')).json.code).toBe('DELIVERY_NOT_ALLOWED');
  });

  it('is not minted for whom the record is not delivered to', async () => {
    await stored('proxied', { ...aws(), delivery: 'proxy-only' });
    const before = sts.requests.length;
    expect((await webhook.credential('proxied')).json.code).toBe('DELIVERY_NOT_ALLOWED');
    expect(sts.requests.length).toBe(before);
  });
});

describe('what is made on demand', () => {
  it('is put in by a proxy as it is delivered: a code, and a token of the proxy’s own', async () => {
    const allowed = {
      allowedHosts: [new URL(provider.url).origin],
      allowedHeaders: ['x-otp', 'authorization'],
    };
    let tokens = 0;
    answerOfProvider = ({ url }) =>
      url === '/token'
        ? { body: JSON.stringify({ access_token: `ya29.of-the-proxy-${++tokens}`, expires_in: 3600 }) }
        : { body: '{}', headers: { 'content-type': 'application/json' } };
    await stored('injected code', { tokenType: 'TOTP', secret: SEED, ...allowed, allowShortSecret: true });
    await stored('injected token', { ...gcp(), ...allowed });
    const upstreamUrl = `${provider.url}/mcp`;
    const code = { proxyId: 'prx_BBBBBBBBBBBBBBBBBBBBBB', serviceName: 'injected code' };
    await putProxy(webhook, upstreamUrl, { ...code, headerTemplates: { 'x-otp': 'code=$<TOKEN>' } });
    expect((await callProxy(webhook, { ...code, body: '{}' })).status).toBe(200);
    const { accessToken } = await delivered('injected code');
    expect(provider.requests.at(-1)!.headers['x-otp']).toBe(`code=${accessToken}`);

    const token = { proxyId: 'prx_CCCCCCCCCCCCCCCCCCCCCC', serviceName: 'injected token' };
    await putProxy(webhook, upstreamUrl, token);
    for (let call = 0; call < 2; call++)
      expect((await callProxy(webhook, { ...token, body: '{}' })).status).toBe(200);
    expect(provider.requests.at(-1)!.headers['authorization']).toBe('Bearer ya29.of-the-proxy-1');
    expect((await delivered('injected token')).accessToken).toBe('ya29.of-the-proxy-2');

    answerOfProvider = () => ({ status: 400, body: '{"error":"invalid_grant"}' });
    webhook.clock.advance(3_600_000);
    const before = provider.requests.length;
    const refused = await callProxy(webhook, { ...token, body: '{}' });
    expect(refused).toMatchObject({ status: 422, json: FAILED });
    // The provider was asked, the upstream was not.
    expect(provider.requests.slice(before).map(({ url }) => url)).toEqual(['/token']);
  });

  it('is not put in by a proxy where the provider gave less than 80 bits and the owner did not permit that', async () => {
    answerOfProvider = () => ({ body: JSON.stringify({ access_token: 'ya29.short', expires_in: 3600 }) });
    const proxyId = 'prx_DDDDDDDDDDDDDDDDDDDDDD';
    const allowedHosts = [new URL(provider.url).origin];
    for (const [more, status, requested] of [
      [{}, 422, ['/token']],
      [{ allowShortSecret: true }, 200, ['/token', '/mcp']],
    ] as const) {
      await stored('short token', { ...gcp(), allowedHosts, ...more });
      await putProxy(webhook, `${provider.url}/mcp`, { proxyId, serviceName: 'short token' });
      const before = provider.requests.length;
      const answer = await callProxy(webhook, { proxyId, serviceName: 'short token', body: '{}' });
      expect([answer.status, provider.requests.slice(before).map(({ url }) => url)]).toEqual([
        status,
        requested,
      ]);
      if (status === 422) {
        expect(answer.json.code).toBe('NOT_INJECTABLE');
        expect(answer.json.error).toContain('allowShortSecret: true');
      }
    }
  });
});

describe('addresses', () => {
  it.each([
    'http://2130706433',
    'http://0x7f000001',
    'http://0177.0.0.1',
    'http://127.1',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://[64:ff9b::7f00:1]',
    'http://localhost.',
    'http://169.254.169.254',
    'https://10.0.0.1',
    'https://metadata.google.internal.localhost',
  ])('of providers obey the rules: %s is not called', async (origin) => {
    // Nothing is named here, so every spelling of an address that is not public is refused.
    const strict = await strictWebhook();
    const { port } = new URL(provider.url);
    const before = [provider.requests.length, sts.requests.length];
    for (const [name, body] of [
      ['strict gcp', gcp({ tokenUri: `${origin}:${port}/token` })],
      ['strict app', github({ apiUrl: `${origin}:${port}` })],
    ] as const) {
      expect(await strict.store(name, body)).toMatchObject({ status: 200 });
      expect(await strict.credential(name)).toMatchObject({ status: 422, json: FAILED });
    }
    expect([provider.requests.length, sts.requests.length]).toEqual(before);
  });

  it('lets the STS endpoint through for STS alone', async () => {
    const strict = await strictWebhook();
    await strict.store('aws', aws());
    expect((await strict.credential('aws')).status).toBe(200);
    const before = sts.requests.length;
    await strict.store('gcp to sts', gcp({ tokenUri: sts.url }));
    expect(await strict.credential('gcp to sts')).toMatchObject({ status: 422, json: FAILED });
    expect(sts.requests.length).toBe(before);
  });

  let strict: BoundWebhook | undefined;
  const strictWebhook = async (): Promise<BoundWebhook> =>
    (strict ??= await boundWebhook({ env: { SV_AWS_STS_ENDPOINT: sts.url } }));
  afterAll(() => strict?.remove());
});

it('leaves no seed, no key and nothing minted in the log, the database or what lists tell', async () => {
  expect(minted.length).toBeGreaterThan(10);
  const names = ['otp', 'aws role', 'gcp', 'app'];
  const lists = [
    ...(await Promise.all(names.map((serviceName) => webhook.storage({ op: 'tokens.get', serviceName })))),
    await webhook.storage({ op: 'tokens.list' }),
    await webhook.storage({ op: 'audit.list' }),
  ];
  const db = new Database(`${webhook.dataDir}/webhook.db`, { readonly: true });
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all() as string[];
  const kept = tables.map((name) =>
    db
      .prepare(`SELECT * FROM ${name}`)
      .raw()
      .all()
      .flat()
      .map((cell) => (Buffer.isBuffer(cell) ? cell.toString('latin1') : String(cell)))
      .join('\n'),
  );
  db.close();
  const texts = { log: log.join(''), lists: lists.map(({ text }) => text).join(''), kept: kept.join('') };
  expect(texts.kept).toContain('aws role');
  // Codes of six digits stand in many texts by chance.
  const secrets = [...CANARIES, ...minted.filter((text) => text.length > 8)].flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    Buffer.from(text).toString('base64').slice(0, -4),
    encodeURIComponent(text),
  ]);
  for (const [where, text] of Object.entries(texts))
    expect([where, secrets.filter((secret) => text.includes(secret))]).toEqual([where, []]);
});

function pem(modulusLength: number): string {
  return generateKeyPairSync('rsa', { modulusLength }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string;
}

function ec(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}
