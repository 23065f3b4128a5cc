import { describe, expect, it } from 'vitest';
import { minterSchema } from './minter.ts';
import { storeBodySchema } from './store.ts';
import { totpSeedOf } from './totp-seed.ts';

const SEED = 'JBSWY3DPEHPK3PXP';
const URI = `otpauth://totp/a?secret=${SEED}&digits=8`;
const AWS = { type: 'aws-sts', accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 's' };
const ROLE = { ...AWS, roleArn: 'arn:aws:iam::123456789012:role/team/reader' };
const GCP = { type: 'gcp-service-account', clientEmail: 'a@b.example', privateKey: 'k', scopes: ['s'] };
const GITHUB = { type: 'github-app', appId: '1', installationId: '2', privateKey: 'k' };

const accepts = (minter: object): boolean => minterSchema.safeParse(minter).success;

describe('a TOTP body', () => {
  it('has the parameters of the codes, as members or as a URI', () => {
    expect(totpSeedOf({ secret: 'jbsw y3dp ehpk 3pxp' })).toEqual({
      seed: SEED,
      algorithm: 'SHA1',
      digits: 6,
      period: 30,
    });
    expect(totpSeedOf({ otpauthUri: URI, period: 60, digits: 8 })).toEqual({
      seed: SEED,
      algorithm: 'SHA1',
      digits: 8,
      period: 60,
    });
  });

  it('may leave all parameters out in either form', () => {
    expect(totpSeedOf({ secret: '' })?.seed).toBe('');
    expect(totpSeedOf({ otpauthUri: '' })?.seed).toBe('');
  });

  it.each([
    ['a seed that is no base32', { secret: 'not base32!' }],
    ['a cut seed', { secret: 'JBSWY3' }],
    ['spaces alone', { secret: '   ' }],
    ['a URI as the seed', { secret: URI }],
    ['a seed as the URI', { otpauthUri: SEED }],
    ['a URI that says something else than the member beside it', { otpauthUri: URI, digits: 6 }],
    ['no period', { secret: SEED, period: 0 }],
    ['a period of more than a day', { secret: SEED, period: 86_401 }],
  ])('is rejected with %s', (_what, members) => {
    const refused = storeBodySchema.safeParse({ tokenType: 'TOTP', ...members });
    expect(refused.success).toBe(false);
    expect(JSON.stringify(refused.error?.issues)).not.toContain('JBSWY');
  });

  it('may have any period from one second to one day', () => {
    for (const period of [1, 30, 86_400])
      expect(storeBodySchema.safeParse({ tokenType: 'TOTP', secret: SEED, period }).success).toBe(true);
  });
});

describe('a minter', () => {
  it.each([
    AWS,
    { ...AWS, durationSeconds: 129_600 },
    ROLE,
    { ...ROLE, region: 'us-gov-west-1', durationSeconds: 43_200, sessionPolicy: '{"Version":"2012-10-17"}' },
    { ...ROLE, roleArn: 'arn:aws-us-gov:iam::123456789012:role/a+=,.@-_', region: 'eu-isoe-west-1' },
    GCP,
    { ...GCP, tokenUri: 'https://oauth2.googleapis.com/token', scopes: ['https://a.example/auth/b.c'] },
    GITHUB,
    { ...GITHUB, appId: 'Iv23liAbCdEf', apiUrl: 'https://github.example/api/v3' },
    { ...GITHUB, permissions: { contents: 'read', pull_requests: 'write' }, repositories: ['a.b-c_d'] },
  ])('is accepted: %o', (minter) => {
    expect(accepts(minter)).toBe(true);
  });

  it.each([
    ...[
      'us-east-1.evil.example',
      'evil.example/x',
      'us-east-1#',
      'us-east-1@evil',
      'US-EAST-1',
      'a',
      '',
      '../x-1',
    ]
      .concat(['us-east-1\n', 'us-east-1:8443', 'aws-global', '127.0.0.1', 'us-east-1 ', 'us-east-1%2e'])
      .map((region) => ({ ...AWS, region })),
    ...[
      'role',
      'arn:aws:iam::123:role/a',
      'arn:aws:sts::123456789012:role/a',
      'arn:aws:iam::123456789012:user/a',
    ]
      .concat([
        'arn:aws:iam::123456789012:role/a&Action=GetCallerIdentity',
        'arn:aws:iam::123456789012:role/a b',
      ])
      .concat(['arn:aws:iam::123456789012:role/', 'arn:aws:iam::123456789012:role/a\n', ''])
      .map((roleArn) => ({ ...AWS, roleArn })),
    ...['a/b', 'a,b', 'a b', 'a\r\nx: y', ''].map((accessKeyId) => ({ ...AWS, accessKeyId })),
    // Without a role AWS would not look at it, and a restriction would be none.
    { ...AWS, sessionPolicy: '{}' },
    ...['', 'x', '[]', '"a"', 'null', `{"a":"${'x'.repeat(2048)}"}`].map((sessionPolicy) => ({
      ...ROLE,
      sessionPolicy,
    })),
    { ...AWS, durationSeconds: 899 },
    { ...AWS, durationSeconds: 129_601 },
    { ...ROLE, durationSeconds: 43_201 },
    ...['../../user', '1/2', '1?x', '1#', '', '-1', '1 ', '9'.repeat(21), '%31', '１'].map(
      (installationId) => ({
        ...GITHUB,
        installationId,
      }),
    ),
    ...['', 'a b', 'a"b', 'x'.repeat(65)].map((appId) => ({ ...GITHUB, appId })),
    ...[
      'https://a:b@api.example',
      'https://api.example/?x',
      'https://api.example/#x',
      'ftp://a',
      'api.example',
      '',
    ]
      .concat([
        '//api.example',
        'https:/api.example',
        'https://api.example\\@evil.example',
        'file:///etc/passwd',
      ])
      .map((apiUrl) => ({ ...GITHUB, apiUrl })),
    ...['https://a@b.example', 'javascript:1', 'https://b.example/#x', 'b.example', ''].map((tokenUri) => ({
      ...GCP,
      tokenUri,
    })),
    // GitHub takes these two for no restriction at all.
    { ...GITHUB, permissions: {} },
    { ...GITHUB, repositories: [] },
    { ...GITHUB, permissions: { contents: 'all' } },
    { ...GITHUB, permissions: { 'con tents': 'read' } },
    { ...GITHUB, repositories: ['owner/name'] },
    { ...GITHUB, repositories: ['..'] },
    { ...GCP, scopes: [] },
    ...['', 'a b', 'a"b', 'a\\b', 'a\nb', 'ä'].map((scope) => ({ ...GCP, scopes: [scope] })),
    ...['', 'a b', 'a\nb'].map((clientEmail) => ({ ...GCP, clientEmail })),
    { ...AWS, type: 'azure' },
    { ...AWS, secretAccessKey: 'x'.repeat(64 * 1024 + 1) },
    { ...GITHUB, role: 'x' },
  ])('is rejected: %o', (minter) => {
    expect(accepts(minter)).toBe(false);
  });
});
