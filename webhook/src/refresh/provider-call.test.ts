import { describe, expect, it } from 'vitest';
import { Secret } from '@svault/shared';
import type { EgressRequest } from '@svault/shared/egress';
import { callProvider, readTokenAnswer, refreshRequest } from './provider-call.ts';

const PROVIDER = { tokenUrl: 'https://p.test/token', clientId: 'a client', mediated: false } as const;
const TOKEN = new Secret('rt+/=');
const body = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const answered = (value: unknown, status = 200) => readTokenAnswer({ status, body: body(value) }, []);

describe('the request (RFC 6749 section 6)', () => {
  const request = (authMethod: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt' | 'none') =>
    refreshRequest({ ...PROVIDER, authMethod }, TOKEN, {
      clientSecret: new Secret('s:%+ ü'),
      clientAssertion: new Secret('a.b.c'),
    });
  const grant = 'grant_type=refresh_token&refresh_token=rt%2B%2F%3D';

  it('form-encodes both parts of Basic credentials (section 2.3.1)', () => {
    const { headers, body: form } = request('client_secret_basic');
    const [, encoded = ''] = headers['authorization']?.split(' ') ?? [];
    expect(Buffer.from(encoded, 'base64').toString()).toBe('a+client:s%3A%25%2B+%C3%BC');
    expect(form).toBe(grant);
  });

  it.each([
    ['client_secret_post', `${grant}&client_id=a+client&client_secret=s%3A%25%2B+%C3%BC`],
    ['none', `${grant}&client_id=a+client`],
    [
      'private_key_jwt',
      `${grant}&client_id=a+client` +
        '&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer' +
        '&client_assertion=a.b.c',
    ],
  ] as const)('authenticates by %s in the form only', (method, form) => {
    expect(request(method).body).toBe(form);
    expect(request(method).headers).not.toHaveProperty('authorization');
  });

  it('requests the sealed scope', () => {
    const { body: form } = refreshRequest({ ...PROVIDER, authMethod: 'none', scope: 'a b' }, TOKEN, {});
    expect(new URLSearchParams(form).get('scope')).toBe('a b');
  });
});

describe('the response', () => {
  it('has a new pair, or an access token for the same refresh token', () => {
    const pair = answered({ access_token: 'at', refresh_token: 'rt2', expires_in: 60, token_type: 'Bearer' });
    expect(pair.kind === 'pair' && [pair.accessToken.reveal(), pair.refreshToken?.reveal()]).toEqual([
      'at',
      'rt2',
    ]);
    for (const refreshToken of [undefined, null, ''])
      expect(answered({ access_token: 'at', refresh_token: refreshToken })).toMatchObject({
        kind: 'pair',
        refreshToken: undefined,
      });
  });

  it.each([
    [60, 60],
    ['60', 60],
    [0, 0],
    [1.5, 1.5],
    [1e300, 3_153_600_000],
    [-1, undefined],
    ['-1', undefined],
    ['soon', undefined],
    [null, undefined],
    [undefined, undefined],
    [true, undefined],
  ])('with expires_in %j is valid for %j seconds', (expiresIn, expected) => {
    expect(answered({ access_token: 'at', expires_in: expiresIn })).toMatchObject({
      expiresInSeconds: expected,
    });
  });

  it.each([
    ['invalid_grant', 400],
    ['invalid_grant', 401],
    ['bad_refresh_token', 200],
    ['invalid_refresh_token', 200],
  ])('%s with status %i rejects the refresh token', (error, status) => {
    expect(answered({ error }, status)).toEqual({ kind: 'refused', reason: `status ${status}, ${error}` });
  });

  it.each([
    [{ error: 'invalid_client' }, 401, 'status 401, invalid_client'],
    [{ error: 'a secret' }, 400, 'status 400'],
    [{ error: 'rate_limited', error_description: 'Slow down.' }, 200, 'status 200, rate_limited: Slow down.'],
    [{ access_token: 'at' }, 302, 'status 302'],
    [{ access_token: 'a'.repeat(9) + '\n' }, 200, 'no access token'],
    [[], 200, 'no access token'],
    ['text', 200, 'no JSON object'],
  ])(
    '%j with status %i is a failure whose reason is the provider’s code and text',
    (value, status, reason) => {
      expect(answered(value, status)).toEqual({ kind: 'failed', code: 'PROVIDER_ERROR', reason });
    },
  );

  it('is accepted with a byte order mark or a repeated name, since it may have a rotated token', () => {
    const text = '\u{feff}{"access_token":"a","access_token":"b","refresh_token":"rt2"}';
    expect(readTokenAnswer({ status: 200, body: Buffer.from(text) }, [])).toMatchObject({ kind: 'pair' });
  });
});

describe('the call', () => {
  it('is limited to 8 s and 64 KiB, and does not report the text of an unknown error', async () => {
    let made: EgressRequest | undefined;
    const answer = await callProvider(
      {
        request: async (request) => {
          made = request;
          throw new Error('with rt+/= inside');
        },
      },
      { provider: { ...PROVIDER, authMethod: 'none' }, refreshToken: TOKEN, authentication: {} },
    );
    expect(made).toMatchObject({ timeoutMs: 8_000, maxBytes: 65_536 });
    expect(answer).toEqual({ kind: 'failed', code: 'PROVIDER_ERROR', reason: 'the call could not be made' });
  });
});
