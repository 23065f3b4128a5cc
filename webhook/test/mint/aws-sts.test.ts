import { writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type AppError, ManualClock, Secret } from '@svault/shared';
import { createEgress } from '@svault/shared/egress';
import { tempDir } from '@svault/test-kit/temp-dir';
import { mintAwsCredentials, stsEndpoint } from '../../src/mint/aws-sts.ts';
import type { SealedMinter } from '../../src/vault/record.ts';
import { type Provider, startProvider } from '../support/fake-provider.ts';
import { ACCESS_KEY, type FakeSts, startFakeSts, stsError } from '../support/fake-sts.ts';

type AwsSettings = Extract<SealedMinter, { type: 'aws-sts' }>;
const USER: AwsSettings = { type: 'aws-sts', accessKeyId: ACCESS_KEY.accessKeyId };
const ROLE: AwsSettings = { ...USER, roleArn: 'arn:aws:iam::123456789012:role/reader' };
const SECRET = new Secret(ACCESS_KEY.secretAccessKey);

const clock = new ManualClock(Date.UTC(2026, 10, 20, 12));
let sts: FakeSts;
let byDefault: FakeSts['answer'];
beforeAll(async () => {
  sts = await startFakeSts({ now: () => clock.now() });
  byDefault = sts.answer;
});
afterAll(() => sts.stop());
afterEach(() => {
  sts.answer = byDefault;
  vi.unstubAllEnvs();
});

async function mint(
  settings: AwsSettings,
  options: { secret?: Secret; endpoint?: string; caller?: string; timeoutMs?: number } = {},
) {
  const {
    secret = SECRET,
    endpoint = sts.url,
    caller = 'agt_AAAAAAAAAAAAAAAAAAAAAA',
    timeoutMs = 5_000,
  } = options;
  const way = stsEndpoint(endpoint);
  try {
    return await mintAwsCredentials({ egress: way.egress, clock, timeoutMs }, settings, secret, {
      endpoint,
      caller,
    });
  } finally {
    await way.egress.close();
  }
}

const refused = (call: Promise<unknown>): Promise<AppError> =>
  call.then(
    () => Promise.reject(new Error('this was minted')),
    (error: AppError) => error,
  );

describe('AWS STS', () => {
  it('returns the credentials of a role, restricted by the policy, with the caller as session name', async () => {
    const settings = {
      ...ROLE,
      durationSeconds: 900,
      sessionPolicy: '{"Version":"2012-10-17","Statement":[]}',
    };
    const minted = await mint(settings);
    expect(sts.calls.at(-1)).toEqual({
      Action: 'AssumeRole',
      Version: '2011-06-15',
      RoleArn: ROLE.roleArn,
      RoleSessionName: 'agt_AAAAAAAAAAAAAAAAAAAAAA',
      DurationSeconds: '900',
      Policy: settings.sessionPolicy,
    });
    const { accessKeyId, secretAccessKey, sessionToken } = sts.issued;
    expect(JSON.parse(minted.accessToken.reveal())).toEqual({
      Version: 1,
      AccessKeyId: accessKeyId,
      SecretAccessKey: secretAccessKey,
      SessionToken: sessionToken,
      Expiration: '2026-11-20T13:00:00.000Z',
    });
    expect(minted.expiryMs).toBe(clock.now() + 3_600_000);
  });

  it('returns those of the key’s user if there is no role', async () => {
    await mint({ ...USER, durationSeconds: 129_600 });
    expect(sts.calls.at(-1)).toEqual({
      Action: 'GetSessionToken',
      Version: '2011-06-15',
      DurationSeconds: '129600',
    });
  });

  it('derives a valid session name from any caller, different for each', async () => {
    const callers = ['agt_a:b', 'agt_a.b', `agt_${'x'.repeat(100)}`, `agt_${'x'.repeat(101)}`, 'a'];
    const names: string[] = [];
    for (const caller of callers) {
      await mint(ROLE, { caller });
      names.push(sts.calls.at(-1)?.['RoleSessionName'] ?? '');
    }
    expect(new Set(names).size).toBe(callers.length);
    for (const name of names) expect(name).toMatch(/^[\w+=,.@-]{2,64}$/);
  });

  it('signs for the sealed region', async () => {
    const elsewhere = await startFakeSts({ now: () => clock.now(), region: 'eu-central-1' });
    await mint({ ...USER, region: 'eu-central-1' }, { endpoint: elsewhere.url });
    expect(elsewhere.calls).toHaveLength(1);
    await elsewhere.stop();
  });

  it.each([
    ['a wrong key', new Secret('another secret'), undefined, 'status 403, SignatureDoesNotMatch'],
    [
      'a refusal',
      SECRET,
      stsError(403, 'AccessDenied', ACCESS_KEY.secretAccessKey),
      'status 403, AccessDenied',
    ],
    ['throttling', SECRET, stsError(400, 'Throttling', 'Rate exceeded'), 'status 400, Throttling'],
    ['a fault', SECRET, stsError(500, 'InternalFailure', 'x'), 'status 500, InternalFailure'],
    ['a code that nobody lists', SECRET, stsError(400, ACCESS_KEY.secretAccessKey, 'x'), 'status 400: x'],
    ['no XML', SECRET, { body: 'sorry' }, 'unreadable answer'],
    ['no body', SECRET, { body: '' }, 'unreadable answer'],
    ['an error page', SECRET, { status: 502, body: '<html>bad</html>' }, 'status 502'],
    ['XML that never ends its elements', SECRET, { body: '<a>'.repeat(10_000) }, 'unreadable answer'],
    [
      'entities that grow',
      SECRET,
      { body: '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><a>&b;</a>' },
      'unreadable answer',
    ],
    ['a redirect', SECRET, { status: 302, headers: { location: 'http://127.0.0.1:9/' } }, 'status 302'],
    ['too much', SECRET, { body: 'x'.repeat(64 * 1024 + 1) }, 'no answer: too_large'],
    ['a broken connection', SECRET, { status: 0 }, 'no answer: connect'],
  ])('reports %s after one call, without the secret', async (_what, secret, answer, reason) => {
    if (answer !== undefined) sts.answer = () => answer;
    const before = sts.requests.length;
    const error = await refused(mint(ROLE, { secret }));
    expect(error).toMatchObject({
      code: 'MINT_FAILED',
      message: expect.stringContaining('gave no credential'),
    });
    expect(error.reason).toContain(reason);
    expect(error.cause).toBeUndefined();
    expect(JSON.stringify([error.message, error.reason, error.stack])).not.toContain(secret.reveal());
    expect(sts.requests.length).toBe(before + 1);
  });

  it.each([
    ['no credentials', /<Credentials>[^]*<\/Credentials>/, ''],
    ['no session token', /<SessionToken>.*<\/SessionToken>/, ''],
    ['a line in the key', /ASIA/, 'ASIA&#13;&#10;'],
    ['no time', /<Expiration>.*<\/Expiration>/, ''],
    ['a time that is none', /<Expiration>.*<\/Expiration>/, '<Expiration>soon</Expiration>'],
  ])('rejects a response with %s', async (_what, part, instead) => {
    sts.answer = async (call) => {
      const answer = await byDefault(call);
      return { ...answer, body: (answer.body ?? '').replace(part, instead) };
    };
    expect(await refused(mint(ROLE))).toMatchObject({ code: 'MINT_FAILED', reason: 'unreadable answer' });
  });

  it('times out without a response', async () => {
    let release = (): void => {};
    sts.answer = () => new Promise((resolve) => (release = () => resolve({ body: '' })));
    const error = await refused(mint(ROLE, { timeoutMs: 50 }));
    release();
    expect(error).toMatchObject({ code: 'PROVIDER_TIMEOUT' });
  });

  describe('with other settings in the environment, files and instance metadata', () => {
    let elsewhere: Provider;
    const folder = tempDir();
    beforeAll(async () => {
      elsewhere = await startProvider(() => ({ status: 500 }));
    });
    afterAll(async () => {
      await elsewhere.stop();
      folder.remove();
    });

    it('uses none of them', async () => {
      const config = `${folder.path}/config`;
      writeFileSync(
        config,
        `[default]\nregion = eu-west-3\nendpoint_url = ${elsewhere.url}\nuse_fips_endpoint = true\nuse_dualstack_endpoint = true\nmax_attempts = 9\nretry_mode = adaptive\naws_access_key_id = AKIAFILE\naws_secret_access_key = file\n`,
      );
      const env = {
        AWS_ENDPOINT_URL: elsewhere.url,
        AWS_ENDPOINT_URL_STS: elsewhere.url,
        AWS_ACCESS_KEY_ID: 'AKIAENVIRONMENT',
        AWS_SECRET_ACCESS_KEY: 'environment',
        AWS_SESSION_TOKEN: 'environment',
        AWS_REGION: 'ap-south-1',
        AWS_CONFIG_FILE: config,
        AWS_SHARED_CREDENTIALS_FILE: config,
        AWS_USE_FIPS_ENDPOINT: 'true',
        AWS_USE_DUALSTACK_ENDPOINT: 'true',
        AWS_MAX_ATTEMPTS: '9',
        AWS_RETRY_MODE: 'adaptive',
        AWS_AUTH_SCHEME_PREFERENCE: 'sigv4a',
        AWS_DEFAULTS_MODE: 'auto',
        AWS_EC2_METADATA_SERVICE_ENDPOINT: elsewhere.url,
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${elsewhere.url}/credentials`,
        HTTPS_PROXY: elsewhere.url,
        HTTP_PROXY: elsewhere.url,
      };
      for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
      const before = sts.calls.length;
      await mint(ROLE);
      await mint(USER);
      expect(sts.calls.length).toBe(before + 2);
      expect(sts.requests.at(-1)?.headers).not.toHaveProperty('x-amz-security-token');
      sts.answer = () => stsError(503, 'ServiceUnavailable', 'x');
      const requests = sts.requests.length;
      await refused(mint(ROLE));
      expect(sts.requests.length).toBe(requests + 1);
      expect(elsewhere.requests).toEqual([]);
    });
  });

  it.each([
    [undefined, 'sts.us-east-1.amazonaws.com'],
    ['eu-central-1', 'sts.eu-central-1.amazonaws.com'],
    ['us-gov-west-1', 'sts.us-gov-west-1.amazonaws.com'],
    ['cn-north-1', 'sts.cn-north-1.amazonaws.com.cn'],
    ['eusc-de-east-1', 'sts.eusc-de-east-1.amazonaws.eu'],
  ])('calls the public endpoint of region %s, at public addresses only', async (region, host) => {
    const asked: string[] = [];
    const resolve = async (name: string) => {
      asked.push(name);
      return ['169.254.169.254'];
    };
    const egress = createEgress({ allow: [], resolve });
    const settings = region === undefined ? USER : { ...USER, region };
    const call = mintAwsCredentials({ egress, clock, timeoutMs: 5_000 }, settings, SECRET, {
      endpoint: undefined,
      caller: 'agt_a',
    });
    expect(await refused(call)).toMatchObject({
      code: 'MINT_FAILED',
      reason: 'refused by the address rules: address',
    });
    expect(asked).toEqual([host]);
    await egress.close();
  });
});
