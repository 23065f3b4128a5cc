/** Minted credentials beyond the conformance suite: AWS, the log, the cache, addresses and proxies. */
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '@svault/server-kit/logger';
import { LogSink } from '@svault/test-kit/log-sink';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { type BoundWebhook, OWNER, boundWebhook, webhookOfTest } from '../support/bound-webhook.ts';
import { type Provider, type ProviderAnswer, startProvider } from '../support/fake-provider.ts';
import { ACCESS_KEY, type FakeSts, startFakeSts, stsError } from '../support/fake-sts.ts';
import { callProxy, putProxy } from '../support/proxy-calls.ts';

const pemOf = (modulusLength: number): string =>
  generateKeyPairSync('rsa', { modulusLength }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const KEY = pemOf(2048);
const FAILED = {
  error: 'The provider gave no credential. The owner of the credential sees the reason with svault get.',
  code: 'MINT_FAILED',
};
const TOKEN: ProviderAnswer = { body: '{"access_token":"ya29.minted-of-this-test","expires_in":3600}' };

const log = new LogSink();
let webhook: BoundWebhook;
let sts: FakeSts;
let provider: Provider;
/** How the provider of GCP and GitHub answers; tests set it. */
let answer: ProviderAnswer = TOKEN;
let answerOfSts: FakeSts['answer'];
beforeAll(async () => {
  sts = await startFakeSts({ now: () => webhook.clock.now() });
  answerOfSts = sts.answer;
  provider = await startProvider(({ url }) => (url === '/mcp' ? { body: '{}' } : answer));
  // The STS endpoint may be called because the operator configured it; the provider, because it is named.
  const stsUrl = sts.url.replace('127.0.0.1', 'localhost');
  const env = { SV_AWS_STS_ENDPOINT: stsUrl, SV_EGRESS_ALLOW: '127.0.0.1' };
  const logger = createLogger({ name: 'webhook', level: 'trace', format: 'json', destination: log });
  webhook = await boundWebhook({ env, logger });
});
afterAll(async () => {
  await webhook.remove();
  await sts.stop();
  await provider.stop();
});
afterEach(() => {
  sts.answer = answerOfSts;
  answer = TOKEN;
});

const minting = (type: string, members: object) => ({
  tokenType: 'RawCredential',
  minter: { type, ...members },
});
const aws = (more: object = {}) => minting('aws-sts', { ...ACCESS_KEY, ...more });
const gcp = (more: object = {}) => {
  const account = { clientEmail: 'robot@project.iam.gserviceaccount.com', scopes: ['email'] };
  return minting('gcp-service-account', {
    ...account,
    privateKey: KEY,
    tokenUri: `${provider.url}/token`,
    ...more,
  });
};
const github = (more: object = {}) =>
  minting('github-app', {
    appId: '12345',
    installationId: '678',
    privateKey: KEY,
    apiUrl: provider.url,
    ...more,
  });
async function stored(name: string, body: object): Promise<void> {
  expect(await webhook.store(name, body)).toMatchObject({ status: 200 });
}
async function delivered(name: string, claims: object = {}) {
  const { status, json } = await webhook.credential(name, claims);
  expect([status, json]).toMatchObject([200, { token: { serviceName: name } }]);
  return json.token;
}

describe('an AWS record', () => {
  // spec: A raw cloud credential returns a short-lived minted token.
  it('is delivered in the format of AWS’s credential_process', async () => {
    await stored('aws role', aws({ roleArn: 'arn:aws:iam::123456789012:role/reader', region: 'us-east-1' }));
    const { accessToken, expiryTime } = await delivered('aws role');
    expect(JSON.parse(accessToken)).toMatchObject({
      Version: 1,
      SessionToken: sts.issued.sessionToken,
      Expiration: expiryTime,
    });
    const RoleSessionName = expect.stringMatching(/^agt_/);
    expect(sts.calls.at(-1)).toMatchObject({ Action: 'AssumeRole', RoleSessionName });
  });

  it('fails with MINT_FAILED and an event if AWS rejects the call, and is minted again at the next request', async () => {
    await stored('aws refused', aws());
    sts.answer = () => stsError(403, 'AccessDenied', `no, ${ACCESS_KEY.secretAccessKey}`);
    expect(await webhook.credential('aws refused')).toMatchObject({ status: 422, json: FAILED });
    const { items } = (await webhook.storage({ op: 'audit.list', serviceName: 'aws refused' })).json;
    // The text repeats the key that was sent, so the code alone is shown.
    const reason = 'status 403, AccessDenied';
    expect(items[0]).toMatchObject({ outcome: 'denied', detail: { code: 'MINT_FAILED', reason } });
    expect(log.text).toContain('status 403, AccessDenied');
    sts.answer = answerOfSts;
    await delivered('aws refused');
  });
});

describe('the reason of a provider', () => {
  it.each<[string, () => object, ProviderAnswer, string]>([
    [
      'Google',
      gcp,
      { status: 400, body: '{"error":"invalid_grant","error_description":"Invalid JWT Signature."}' },
      'status 400, invalid_grant: Invalid JWT Signature.',
    ],
    [
      'GitHub',
      github,
      { status: 404, body: '{"message":"Integration not found"}' },
      'status 404: Integration not found',
    ],
  ])(
    '%s is in the answer to the owner, and in none to an agent or a proxy',
    async (name, body, given, said) => {
      await stored(`told by ${name}`, body());
      answer = given;
      const fetched = (claims: object) => webhook.credential(`told by ${name}`, claims);
      expect(await fetched({ sub: OWNER })).toMatchObject({
        status: 422,
        json: { ...FAILED, providerReason: said },
      });
      for (const sub of ['agt_BBBBBBBBBBBBBBBBBBBBBB', 'prx_BBBBBBBBBBBBBBBBBBBBBB'])
        expect((await fetched({ sub })).json).toEqual({ ...FAILED, requestId: expect.any(String) });
    },
  );
});

describe('a record of a provider that speaks JSON', () => {
  it.each<[string, () => object, ProviderAnswer, string]>([
    ['a refusal', gcp, { status: 400, body: '{"error":"invalid_grant"}' }, 'invalid_grant'],
    ['a reason of its own', gcp, { status: 400, body: `{"error":"mine"}` }, 'status 400, mine'],
    ['a redirect', gcp, { status: 307, headers: { location: 'http://127.0.0.1:9/' } }, 'status 307'],
    ['no JSON', gcp, { body: 'token' }, 'unreadable answer'],
    ['a token with a line feed', gcp, { body: '{"access_token":"a\\nb"}' }, 'unreadable answer'],
    ['a life that is none', gcp, { body: '{"access_token":"a","expires_in":-1}' }, 'unreadable answer'],
    ['too much', gcp, { body: `{"access_token":"${'x'.repeat(65 * 1024)}"}` }, 'too_large'],
    ['a broken connection', gcp, { status: 0 }, 'no answer: connect'],
    ['a time that is none', github, { status: 201, body: '{"token":"g","expires_at":"soon"}' }, 'unreadable'],
  ])('fails by %s, with the reason only in the log', async (what, body, given, reason) => {
    await stored(what, body());
    answer = given;
    expect(await webhook.credential(what)).toMatchObject({ status: 422, json: FAILED });
    expect(log.text.trimEnd().split('\n').at(-1)).toContain(reason);
  });

  it.each([
    ['no key', 'not a key'],
    ['a key too small', pemOf(1024)],
    [
      'a key of another kind',
      generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }),
    ],
  ])('is not stored with %s', async (_what, privateKey) => {
    const refused = await webhook.store('gcp key', gcp({ privateKey }));
    expect(refused).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST' } });
  });

  it('calls no address that egress rules deny, including the STS endpoint', async () => {
    const strict = await webhookOfTest({ env: { SV_AWS_STS_ENDPOINT: sts.url } });
    const { port } = new URL(provider.url);
    await strict.store('aws', aws());
    expect((await strict.credential('aws')).status).toBe(200);
    const before = [provider.requests.length, sts.requests.length];
    for (const body of [
      gcp({ tokenUri: `http://0x7f000001:${port}/token` }),
      gcp({ tokenUri: sts.url }),
      github({ apiUrl: `http://[::ffff:127.0.0.1]:${port}` }),
    ]) {
      expect(await strict.store('strict', body)).toMatchObject({ status: 200 });
      expect(await strict.credential('strict')).toMatchObject({ status: 422, json: FAILED });
    }
    expect([provider.requests.length, sts.requests.length]).toEqual(before);
  });
});

describe('a minted credential', () => {
  it('is cached for each caller separately, and evicted once its record is replaced or deleted', async () => {
    await stored('kept', aws());
    const before = sts.calls.length;
    const { accessToken } = await delivered('kept');
    webhook.clock.advance(2_399_000);
    expect((await delivered('kept')).accessToken).toBe(accessToken);
    await delivered('kept', { sub: 'agt_BBBBBBBBBBBBBBBBBBBBBB' });
    expect(sts.calls.length).toBe(before + 2);
    webhook.clock.advance(1_000);
    await delivered('kept');
    await stored('kept', aws({ durationSeconds: 900 }));
    await delivered('kept');
    expect(sts.calls.at(-1)).toMatchObject({ DurationSeconds: '900' });
    await webhook.storage({ op: 'tokens.delete', serviceName: 'kept' });
    expect((await webhook.credential('kept')).json.code).toBe('NOT_FOUND');
    await stored('kept', aws());
    await delivered('kept');
    expect(sts.calls.length).toBe(before + 5);
  });

  it('is not delivered if its record was replaced or deleted meanwhile', async () => {
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

  it('is minted once for a hundred concurrent tickets, and for none that the record denies', async () => {
    await stored('asked', aws());
    const before = sts.requests.length;
    const answers = await Promise.all(Array.from({ length: 100 }, () => webhook.credential('asked')));
    expect(new Set(answers.map(({ json }) => json.token.accessToken)).size).toBe(1);
    await stored('denied', { ...aws(), delivery: 'proxy-only' });
    expect((await webhook.credential('denied')).json.code).toBe('DELIVERY_NOT_ALLOWED');
    expect(sts.requests.length).toBe(before + 1);
  });

  it('is injected by a proxy for which it was minted, unless it is short and its owner did not permit that', async () => {
    const proxy = { proxyId: 'prx_DDDDDDDDDDDDDDDDDDDDDD', serviceName: 'injected' };
    const short = { body: '{"access_token":"ya29.short","expires_in":3600}' };
    for (const [given, more, status, requested] of [
      [TOKEN, {}, 200, ['/token', '/mcp', '/mcp']],
      [short, {}, 422, ['/token']],
      [short, { allowShortSecret: true }, 200, ['/token', '/mcp', '/mcp']],
      [{ status: 400, body: '{}' }, {}, 422, ['/token']],
    ] as const) {
      answer = given;
      await stored('injected', { ...gcp(), allowedHosts: [new URL(provider.url).origin], ...more });
      await putProxy(webhook, `${provider.url}/mcp`, proxy);
      const before = provider.requests.length;
      const got = await callProxy(webhook, { ...proxy, body: '{}' });
      if (status === 200) await callProxy(webhook, { ...proxy, body: '{}' });
      expect([got.status, provider.requests.slice(before).map(({ url }) => url)]).toEqual([
        status,
        requested,
      ]);
      if (status === 200)
        expect(provider.requests.at(-1)?.headers['authorization']).toMatch(/^Bearer ya29\.(minted|short)/);
      else expect(got.json.code).toBe(given === short ? 'NOT_INJECTABLE' : 'MINT_FAILED');
    }
    const before = provider.requests.length;
    answer = TOKEN;
    await stored('injected', gcp());
    await delivered('injected');
    expect(provider.requests.length).toBe(before + 1);
  });

  it('leaves no trace in the log, the files or a list, nor does its key', async () => {
    await stored('traceless', gcp());
    const { accessToken } = await delivered('traceless');
    const { text: entries } = await webhook.storage({ op: 'audit.list' });
    const { text: list } = await webhook.storage({ op: 'tokens.list' });
    const files = readdirSync(webhook.dataDir).map((name) => readFileSync(join(webhook.dataDir, name)));
    const told = Buffer.concat([...files, Buffer.from(log.text + entries + list)]);
    expect(told.includes('traceless')).toBe(true);
    for (const secret of [accessToken, KEY.slice(100, 160), ACCESS_KEY.secretAccessKey])
      expect(tracesOf(secret, told)).toEqual([]);
  });
});

// spec: A TOTP token returns the current one-time code as accessToken.
it('a TOTP seed of fewer than 128 bits is stored, and the answer warns without naming it', async () => {
  for (const [length, bits] of [
    [16, ['80']],
    [23, ['112']],
    [26, []],
  ] as const) {
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'.slice(0, length);
    const { status, json, text } = await webhook.store('otp', { tokenType: 'TOTP', secret });
    const warnings = (json.warnings ?? []) as readonly string[];
    expect([status, warnings.map((each) => /has (\d+) bits; RFC 4226/.exec(each)?.[1])]).toEqual([200, bits]);
    expect('warnings' in json).toBe(bits.length > 0);
    expect(text).not.toContain(secret.slice(0, 6));
    expect((await delivered('otp')).accessToken).toMatch(/^\d{6}$/);
  }
});
