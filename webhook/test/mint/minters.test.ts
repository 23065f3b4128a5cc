import { generateKeyPairSync } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { type ProviderAnswer } from '../support/fake-provider.ts';
import { ACCESS_KEY, stsError } from '../support/fake-sts.ts';
import { SEED, RSA, FAILED, useMintingFixture } from '../support/minting-fixture.ts';

const fixture = useMintingFixture();
const { answers, log, aws, gcp, github, stored, delivered, verified, expectNoLeaks } = fixture;

describe('an AWS record', () => {
  it('delivers what AWS’s tools read from a credential_process', async () => {
    await stored('aws role', aws({ roleArn: 'arn:aws:iam::123456789012:role/reader', region: 'us-east-1' }));
    const { accessToken, expiryTime, ...token } = await delivered('aws role');
    expect(token).toMatchObject({ tokenType: 'RawCredential' });
    expect(JSON.parse(accessToken)).toMatchObject({
      Version: 1,
      SessionToken: fixture.sts.issued.sessionToken,
      Expiration: expiryTime,
    });
    expect(fixture.sts.calls.at(-1)).toMatchObject({
      Action: 'AssumeRole',
      RoleSessionName: expect.stringMatching(/^agt_/),
    });
  });

  it('says MINT_FAILED when AWS refuses, writes it into the log, and tries again when asked again', async () => {
    await stored('aws refused', aws());
    fixture.sts.answer = () => stsError(403, 'AccessDenied', `no, ${ACCESS_KEY.secretAccessKey}`);
    expect(await fixture.webhook.credential('aws refused')).toMatchObject({ status: 422, json: FAILED });
    const { items } = (await fixture.webhook.storage({ op: 'audit.list', serviceName: 'aws refused' })).json;
    expect(items[0]).toMatchObject({
      eventType: 'CREDENTIAL_DELIVERED',
      outcome: 'denied',
      detail: { code: 'MINT_FAILED' },
    });
    expect(log.join('')).toContain('status 403, AccessDenied');
    fixture.sts.answer = fixture.answerOfSts;
    await delivered('aws refused');
  });

  it('is empty without a key', async () => {
    await stored('aws empty', aws({ secretAccessKey: '' }));
    expect((await fixture.webhook.credential('aws empty')).json.code).toBe('EMPTY_TOKEN');
  });
});

describe('a GCP record', () => {
  it('asks with an assertion signed by the service account', async () => {
    answers.provider = () => ({ body: JSON.stringify({ access_token: 'ya29.c.token', expires_in: 3599 }) });
    await stored('gcp', gcp());
    const from = fixture.webhook.clock.now();
    expect(await delivered('gcp')).toMatchObject({
      accessToken: 'ya29.c.token',
      expiryTime: new Date(from + 3_599_000).toISOString(),
    });
    const { url, method, headers, body } = fixture.provider.requests.at(-1)!;
    expect([method, url, headers['content-type']]).toEqual([
      'POST',
      '/token',
      'application/x-www-form-urlencoded',
    ]);
    const form = new URLSearchParams(body);
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const claims = await verified(form.get('assertion') ?? '', {
      issuer: 'robot@project.iam.gserviceaccount.com',
      audience: `${fixture.provider.url}/token`,
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
    answers.provider = () => answer;
    expect(await fixture.webhook.credential(`gcp ${what}`)).toMatchObject({ status: 422, json: FAILED });
    expect(log.at(-1)).toContain(reason);
  });

  it.each([
    ['no key', 'not a key'],
    ['a key too small', pem(1024)],
    ['a key of another kind', ec()],
    ['a public key', RSA.publicKey.export({ type: 'spki', format: 'pem' })],
  ])('is not stored with %s', async (_what, privateKey) => {
    const refused = await fixture.webhook.store('gcp key', gcp({ privateKey }));
    expect(refused).toMatchObject({ status: 400, json: { code: 'INVALID_REQUEST' } });
  });
});

describe('a GitHub App record', () => {
  it('asks for its installation’s token with what it is restricted to', async () => {
    const expires = new Date(fixture.webhook.clock.now() + 3_600_000).toISOString().replace('.000Z', 'Z');
    answers.provider = () => ({
      status: 201,
      body: JSON.stringify({ token: 'ghs_token', expires_at: expires }),
    });
    await stored('app', github({ permissions: { contents: 'read' }, repositories: ['one'] }));
    expect(await delivered('app')).toMatchObject({
      accessToken: 'ghs_token',
      expiryTime: expires.replace('Z', '.000Z'),
    });
    const { url, method, headers, body } = fixture.provider.requests.at(-1)!;
    expect([method, url]).toEqual(['POST', '/api/v3/app/installations/678/access_tokens']);
    expect(JSON.parse(body)).toEqual({ permissions: { contents: 'read' }, repositories: ['one'] });
    const claims = await verified(headers['authorization']?.replace('Bearer ', '') ?? '', {
      issuer: '12345',
    });
    // GitHub takes at most ten minutes.
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(600);
    expect((claims.iat ?? 0) * 1000).toBeLessThan(fixture.webhook.clock.now());
  });

  it.each<[string, ProviderAnswer]>([
    ['a refusal', { status: 401, body: '{"message":"bad credentials"}' }],
    ['no token', { status: 201, body: '{"expires_at":"2030-01-01T00:00:00Z"}' }],
    ['a time that is none', { status: 201, body: '{"token":"ghs_x","expires_at":"soon"}' }],
  ])('fails by %s', async (what, answer) => {
    await stored(`app ${what}`, github());
    answers.provider = () => answer;
    expect(await fixture.webhook.credential(`app ${what}`)).toMatchObject({ status: 422, json: FAILED });
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
    const { port } = new URL(fixture.provider.url);
    const before = [fixture.provider.requests.length, fixture.sts.requests.length];
    for (const [name, body] of [
      ['strict gcp', gcp({ tokenUri: `${origin}:${port}/token` })],
      ['strict app', github({ apiUrl: `${origin}:${port}` })],
    ] as const) {
      expect(await strict.store(name, body)).toMatchObject({ status: 200 });
      expect(await strict.credential(name)).toMatchObject({ status: 422, json: FAILED });
    }
    expect([fixture.provider.requests.length, fixture.sts.requests.length]).toEqual(before);
  });

  it('lets the STS endpoint through for STS alone', async () => {
    const strict = await strictWebhook();
    await strict.store('aws', aws());
    expect((await strict.credential('aws')).status).toBe(200);
    const before = fixture.sts.requests.length;
    await strict.store('gcp to sts', gcp({ tokenUri: fixture.sts.url }));
    expect(await strict.credential('gcp to sts')).toMatchObject({ status: 422, json: FAILED });
    expect(fixture.sts.requests.length).toBe(before);
  });

  let strict: BoundWebhook | undefined;
  const strictWebhook = async (): Promise<BoundWebhook> =>
    (strict ??= await boundWebhook({ env: { SV_AWS_STS_ENDPOINT: fixture.sts.url } }));
  afterAll(() => strict?.remove());
});

it('leaves no seed, no key and no minted credential in the log, the database or a list', () =>
  expectNoLeaks(['aws role', 'gcp', 'app']));

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
