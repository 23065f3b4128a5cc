import { generateKeyPairSync } from 'node:crypto';
import { ManualClock, Secret } from '@svault/shared';
import { type CryptoKey, type KeyObject, decodeJwt, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { canSignBy, signClientAssertion } from './client-authentication.ts';
import { ASSERTION_ALGORITHMS, type AssertionAlgorithm } from '../core/provider.ts';

const pem = (key: ReturnType<typeof generateKeyPairSync>['privateKey']): Secret =>
  new Secret(key.export({ type: 'pkcs8', format: 'pem' }).toString());
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const KEYS: Readonly<Record<AssertionAlgorithm, typeof rsa>> = {
  RS256: rsa,
  PS256: rsa,
  ES256: ec,
  EdDSA: ed,
};

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00.400Z'));
const facts = { tokenUrl: 'https://id.example.org/token', clientId: 'the client' };

describe.each(ASSERTION_ALGORITHMS)('a client assertion by %s', (algorithm) => {
  const { privateKey, publicKey } = KEYS[algorithm];
  const sign = (keyId?: string): Promise<Secret> =>
    signClientAssertion({ ...facts, algorithm, keyId }, pem(privateKey), clock);

  it('has issuer, subject, audience, times and jti, and nothing else', async () => {
    const { payload, protectedHeader } = await jwtVerify(
      (await sign()).reveal(),
      publicKey as KeyObject | CryptoKey,
      { algorithms: [algorithm], currentDate: new Date(clock.now()) },
    );
    const iat = Math.floor(clock.now() / 1000);
    expect(payload).toEqual({
      iss: 'the client',
      sub: 'the client',
      aud: 'https://id.example.org/token',
      iat,
      exp: iat + 60,
      jti: expect.stringMatching(/^[\w-]{22}$/),
    });
    expect(protectedHeader).toEqual({ alg: algorithm });
  });

  it('has a fresh jti each time', async () => {
    const ids = [await sign(), await sign()].map((jwt) => decodeJwt(jwt.reveal()).jti);
    expect(new Set(ids).size).toBe(2);
  });
});

it('a client assertion has the kid of a key that has one', async () => {
  const jwt = await signClientAssertion(
    { ...facts, algorithm: 'ES256', keyId: 'k-1' },
    pem(ec.privateKey),
    clock,
  );
  expect(JSON.parse(Buffer.from(jwt.reveal().split('.')[0] ?? '', 'base64url').toString())).toEqual({
    alg: 'ES256',
    kid: 'k-1',
  });
});

describe('canSignBy with a key', () => {
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  it.each<[string, AssertionAlgorithm, Secret, boolean]>([
    ['of its kind', 'RS256', pem(rsa.privateKey), true],
    ['of another kind', 'RS256', pem(ec.privateKey), false],
    ['of another curve', 'ES256', pem(p384.privateKey), false],
    ['that is too short', 'RS256', pem(short.privateKey), false],
    [
      'in another form',
      'RS256',
      new Secret(rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()),
      false,
    ],
    [
      'that is public',
      'RS256',
      new Secret(rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
      false,
    ],
    ['that is none', 'EdDSA', new Secret('no key'), false],
    ['that is empty', 'EdDSA', new Secret(''), false],
  ])('%s', async (_what, algorithm, key, fits) => {
    expect(await canSignBy(algorithm, key)).toBe(fits);
  });
});
