import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { utf8 } from '../bytes.ts';
import { parseWireObject } from '../json.ts';
import { isAllowedHost } from '../allowed-hosts.ts';
import { storeBodySchema, warningsOf } from './store.ts';

const accepts = (body: unknown): boolean => storeBodySchema.safeParse(body).success;
const PLAIN = { tokenType: 'PlainText', value: 'tkn_0189_abcdefgh' };
const RECIPIENT = { kty: 'EC', crv: 'P-256', x: 'x'.repeat(43), y: 'y'.repeat(43) };
const SEALED = { ...PLAIN, delivery: 'sealed', recipients: [RECIPIENT] };
const PROVIDER = { tokenUrl: 'https://login.example/token', clientId: 'c' };
const JWT = { tokenType: 'JWT', accessToken: 'a' };

describe('the body of a store', () => {
  it.each([
    PLAIN,
    { ...PLAIN, value: '' },
    { ...PLAIN, value: 'é'.repeat(32 * 1024) },
    {
      ...PLAIN,
      allowedHosts: ['api.example', 'api.example:8443', '[2001:db8::1]:80'],
      allowedHeaders: ['X-Api-Key'],
    },
    { ...PLAIN, allowedHosts: ['*'], delivery: 'any' },
    { ...PLAIN, delivery: 'proxy-only', allowedHosts: ['api.example'] },
    SEALED,
    JWT,
    { ...JWT, refreshToken: 'r', shareRefreshToken: false, expiryTime: '2026-01-01T00:00:00Z' },
    { ...JWT, refreshToken: 'r', provider: { ...PROVIDER, clientSecret: 's', scope: 'a b' } },
    { ...JWT, refreshToken: 'r', provider: { ...PROVIDER, mediated: true, authMethod: 'private_key_jwt' } },
    { tokenType: 'Certificate', certificate: 'c', privateKey: 'k' },
    { tokenType: 'SSHKey', privateKey: 'k', publicKey: 'p' },
    { tokenType: 'RawCredential', value: 'v' },
    {
      tokenType: 'RawCredential',
      minter: { type: 'aws-sts', accessKeyId: 'a', secretAccessKey: 's', durationSeconds: 900 },
    },
    {
      tokenType: 'RawCredential',
      minter: { type: 'gcp-service-account', clientEmail: 'e', privateKey: 'k', scopes: ['s'] },
    },
    {
      tokenType: 'RawCredential',
      minter: { type: 'github-app', appId: '1', installationId: '2', privateKey: 'k' },
    },
    { tokenType: 'TOTP', secret: 'JBSWY3DPEHPK3PXP', digits: 6, period: 30, algorithm: 'SHA1' },
    { tokenType: 'TOTP', otpauthUri: 'otpauth://totp/a?secret=JBSWY3DPEHPK3PXP' },
  ])('is accepted: %o', (body) => {
    expect(accepts(body)).toBe(true);
  });

  it.each([
    ['no type', { value: 's' }],
    ['another type', { tokenType: 'plaintext', value: 's' }],
    ['no secret field', { tokenType: 'PlainText' }],
    ['a secret that is no text', { tokenType: 'PlainText', value: 1 }],
    ['a secret above 64 KiB', { ...PLAIN, value: 'é'.repeat(32 * 1024 + 1) }],
    ['a misspelt restriction', { ...PLAIN, allowedHost: ['api.example'] }],
    ['a restriction in other letter case', { ...PLAIN, Delivery: 'sealed' }],
    ['a field of another type', { ...PLAIN, refreshToken: 'r' }],
    [
      'a name that means something to JavaScript',
      JSON.parse('{"tokenType":"PlainText","value":"s","__proto__":{}}') as unknown,
    ],
    ['constructor as a name', { ...PLAIN, constructor: 'x' }],
    ['another delivery', { ...PLAIN, delivery: 'none' }],
    ['sealed without recipients', { ...PLAIN, delivery: 'sealed' }],
    ['recipients without sealed', { ...PLAIN, recipients: [RECIPIENT] }],
    ['no recipient', { ...SEALED, recipients: [] }],
    ['21 recipients', { ...SEALED, recipients: Array.from({ length: 21 }, () => RECIPIENT) }],
    ['a private key as a recipient', { ...SEALED, recipients: [{ ...RECIPIENT, d: 'd'.repeat(43) }] }],
    ['a recipient on another curve', { ...SEALED, recipients: [{ ...RECIPIENT, crv: 'P-384' }] }],
    ['* with proxy-only', { ...PLAIN, delivery: 'proxy-only', allowedHosts: ['*'] }],
    ['* with sealed', { ...SEALED, allowedHosts: ['api.example', '*'] }],
    ['a header that is none', { ...PLAIN, allowedHeaders: ['x a'] }],
    [
      'value and minter',
      {
        tokenType: 'RawCredential',
        value: 'v',
        minter: { type: 'github-app', appId: '1', installationId: '2', privateKey: 'k' },
      },
    ],
    ['neither value nor minter', { tokenType: 'RawCredential' }],
    ['another minter', { tokenType: 'RawCredential', minter: { type: 'azure' } }],
    [
      'an unknown member in a minter',
      {
        tokenType: 'RawCredential',
        minter: { type: 'github-app', appId: '1', installationId: '2', privateKey: 'k', x: 1 },
      },
    ],
    ['secret and otpauthUri', { tokenType: 'TOTP', secret: 'a', otpauthUri: 'b' }],
    ['neither secret nor otpauthUri', { tokenType: 'TOTP' }],
    ['an unknown member in the provider', { ...JWT, provider: { ...PROVIDER, tokenURL: 'x' } }],
    [
      'userinfo in a token URL',
      { ...JWT, provider: { ...PROVIDER, tokenUrl: 'https://a:b@login.example/' } },
    ],
    [
      'private_key_jwt that is not mediated',
      { ...JWT, provider: { ...PROVIDER, authMethod: 'private_key_jwt' } },
    ],
    ['a time that is none', { ...PLAIN, expiryTime: 'soon' }],
  ])('is rejected: %s', (_case, body) => {
    expect(accepts(body)).toBe(false);
  });

  it('may have null for an optional member in the wire format', () => {
    const body = parseWireObject(utf8('{"tokenType":"PlainText","value":"s","allowedHosts":null}'));
    expect(accepts(body)).toBe(true);
  });

  it('exports as JSON Schema', () => {
    expect(() => z.toJSONSchema(storeBodySchema, { io: 'input' })).not.toThrow();
  });
});

describe('an entry of allowedHosts', () => {
  it.each([
    '*',
    'api.example',
    'localhost',
    'a-b.c1.example',
    'xn--schlssel-95a.example',
    'api.example:443',
    'api.example:1',
    'api.example:65535',
    '127.0.0.1',
    '127.0.0.1:8080',
    '[::1]',
    '[2001:db8::1]:8443',
    'http://api.example',
    'http://api.example:80',
    'http://127.0.0.1:3901',
    'http://[::1]:8080',
  ])('may be %s', (entry) => {
    expect(isAllowedHost(entry)).toBe(true);
  });

  it.each([
    '',
    'API.example',
    'api.example.',
    '.example',
    'a..b',
    '*.example',
    'api.*',
    '**',
    'https://api.example',
    'HTTP://api.example',
    'http:api.example',
    'http://',
    'http://*',
    'http://http://api.example',
    'http://api.example/',
    'http://me@api.example',
    'http://API.example',
    'ws://api.example',
    'api.example/',
    'api.example/x',
    'user@api.example',
    'api.example:',
    'api.example:0',
    'api.example:080',
    'api.example:65536',
    'api.example:x',
    'schlüssel.example',
    'api example',
    'api.example\n',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '256.0.0.1',
    '::1',
    '[::1',
    '[0:0::1]',
    '[::ffff:127.0.0.1]',
    '[fe80::1%25eth0]',
    '-a.example',
    'a_b.example',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(127)}aa`,
  ])('is rejected: %j', (entry) => {
    expect(isAllowedHost(entry)).toBe(false);
  });
});

it('a credential with request rules that can be fetched as well is stored with a warning', () => {
  const warningsFor = (more: object) =>
    warningsOf(storeBodySchema.parse({ ...PLAIN, allowedHosts: ['api.example'], ...more }));
  const requests = [{ methods: ['GET'], paths: ['/**'] }];
  expect(warningsFor({ requests })).toEqual([expect.stringContaining('proxy-only')]);
  expect(warningsFor({ requests, delivery: 'proxy-only' })).toEqual([]);
  expect(warningsFor({})).toEqual([]);
});
