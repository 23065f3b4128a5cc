import { createECDH } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { CompactEncrypt, calculateJwkThumbprint, importJWK } from 'jose';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../bytes.ts';
import { openSealed } from './open-sealed.ts';
import { SEALED_REFUSAL_REASONS, SealedRefused } from './sealed-refused.ts';
import { createSealingKey, readSealingKey } from './sealing-key.ts';

const KEY = createSealingKey();
const ENVELOPE = {
  token: {
    accessToken: 'the-credential',
    serviceName: 'github',
    tokenType: 'PlainText',
    createdAt: '2026-11-20T12:00:00.000Z',
  },
};

/** As a webhook seals; each test changes one thing. */
async function seal(
  options: {
    readonly header?: Record<string, unknown>;
    readonly plaintext?: Uint8Array;
    readonly to?: object;
  } = {},
): Promise<string> {
  const { header = {}, plaintext = utf8(JSON.stringify(ENVELOPE)), to = KEY.publicJwk } = options;
  const all = { alg: 'ECDH-ES', enc: 'A256GCM', kid: KEY.thumbprint, cty: 'json', ...header };
  return new CompactEncrypt(plaintext).setProtectedHeader(all).encrypt(await importJWK(to, all.alg));
}

/** Changes the header without sealing anew, as somebody on the way can. */
function withHeader(jwe: string, change: (header: Record<string, unknown>) => unknown): string {
  const [first = '', ...others] = jwe.split('.');
  const changed = change(JSON.parse(Buffer.from(first, 'base64url').toString()));
  const text = typeof changed === 'string' ? changed : JSON.stringify(changed);
  return [Buffer.from(text).toString('base64url'), ...others].join('.');
}

function reasonOf(text: string, key = KEY): Promise<string> {
  return openSealed(text, key).then(
    () => 'opened',
    (error: unknown) => {
      expect(error).toBeInstanceOf(SealedRefused);
      expect(inspect(error, { depth: 9 })).not.toContain('the-credential');
      return (error as SealedRefused).reason;
    },
  );
}

describe('a sealing key', () => {
  it('has the thumbprint that others compute, and is read again from what was kept', async () => {
    expect(await calculateJwkThumbprint(KEY.publicJwk)).toBe(KEY.thumbprint);
    const kept: unknown = JSON.parse(JSON.stringify(KEY.privateJwk.reveal()));
    expect(readSealingKey(kept).thumbprint).toBe(KEY.thumbprint);
    expect(createSealingKey().thumbprint).not.toBe(KEY.thumbprint);
  });

  it('has members of full length, also where numbers begin with zeros', () => {
    for (let tries = 0; tries < 600; tries++) {
      const jwk = createSealingKey().privateJwk.reveal();
      expect([jwk.x, jwk.y, jwk.d].map(({ length }) => length)).toEqual([43, 43, 43]);
    }
    const small = { ...KEY.privateJwk.reveal(), d: `${'A'.repeat(42)}E` };
    expect(() => readSealingKey(small)).toThrow(RangeError);
    // The generator of the curve, which is the public part of the private key 1 (FIPS 186-4 D.1.2.3).
    const one = {
      kty: 'EC',
      crv: 'P-256',
      x: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY',
      y: 'T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
      d: `${'A'.repeat(42)}E`,
    };
    expect(readSealingKey(one).privateJwk.reveal()).toEqual(one);
  });

  it('does not print its private part', () => {
    const { d } = KEY.privateJwk.reveal();
    expect(inspect(KEY, { depth: 9 }) + JSON.stringify(KEY)).not.toContain(d);
    expect(KEY.publicJwk).not.toHaveProperty('d');
  });

  const jwk = KEY.privateJwk.reveal();
  it.each([
    ['nothing', undefined],
    ['a public key', KEY.publicJwk],
    ['another curve', { ...jwk, crv: 'P-384' }],
    ['somebody else’s public part', { ...jwk, ...createSealingKey().publicJwk }],
    ['no point of the curve', { ...jwk, y: jwk.x }],
    ['zero', { ...jwk, d: 'A'.repeat(43) }],
    ['a number beyond the curve', { ...jwk, d: `${'_'.repeat(42)}8` }],
    ['an unknown member', { ...jwk, ext: true }],
    ['text', JSON.stringify(jwk)],
  ])('is not made of %s', (_what, given) => {
    expect(() => readSealingKey(given)).toThrow(new RangeError('not a private EC P-256 key in JWK form'));
  });
});

describe('a sealed credential', () => {
  it('is opened with the key it was sealed to, and does not print', async () => {
    const opened = await openSealed(await seal(), KEY);
    expect(opened.reveal()).toEqual(ENVELOPE);
    expect(inspect(opened) + JSON.stringify(opened)).not.toContain('the-credential');
    expect((await openSealed(await seal(), readSealingKey(KEY.privateJwk.reveal()))).reveal()).toEqual(
      ENVELOPE,
    );
  });

  it('may be as large as a credential can be', async () => {
    const large = {
      token: {
        ...ENVELOPE.token,
        accessToken: '\u0001'.repeat(64 * 1024),
        privateKey: 'k'.repeat(64 * 1024),
      },
    };
    const opened = await openSealed(await seal({ plaintext: utf8(JSON.stringify(large)) }), KEY);
    expect(opened.reveal()).toEqual(large);
  });

  const other = createSealingKey();
  it.each<[reason: string, what: string, jwe: () => Promise<string>]>([
    ['too_large', 'more than any credential', async () => `${await seal()}${'A'.repeat(2_500_000)}`],
    ['malformed', 'nothing', async () => ''],
    ['malformed', 'JSON', async () => JSON.stringify(ENVELOPE)],
    ['malformed', 'four parts', async () => (await seal()).split('.').slice(0, 4).join('.')],
    ['malformed', 'six parts', async () => `${await seal()}.`],
    ['malformed', 'an encrypted key', async () => (await seal()).replace('..', '.AAAA.')],
    ['malformed', 'padding', async () => (await seal()).replace('.', '=.')],
    ['malformed', 'a header that is no JSON', async () => withHeader(await seal(), () => 'x')],
    ['malformed', 'a list for a header', async () => withHeader(await seal(), () => [])],
    ['malformed', 'no kid', async () => seal({ header: { kid: undefined } })],
    ['malformed', 'another content', async () => seal({ header: { cty: 'JWT' } })],
    [
      'malformed',
      'no ephemeral key',
      async () => withHeader(await seal(), (h) => ({ ...h, epk: undefined })),
    ],
    ['malformed', 'critical members', async () => withHeader(await seal(), (h) => ({ ...h, crit: ['b64'] }))],
    [
      'malformed',
      'an address of a key',
      async () => withHeader(await seal(), (h) => ({ ...h, jku: 'https://a' })),
    ],
    [
      'malformed',
      'an agreement with names',
      async () => withHeader(await seal(), (h) => ({ ...h, apu: 'QQ' })),
    ],
    [
      'malformed',
      'a member twice',
      async () => withHeader(await seal(), (h) => JSON.stringify(h).replace('{', '{"alg":"dir",')),
    ],
    ['algorithm', 'dir', async () => withHeader(await seal(), (h) => ({ ...h, alg: 'dir' }))],
    ['malformed', 'a wrapped key', async () => seal({ header: { alg: 'ECDH-ES+A256KW' } })],
    ['algorithm', 'another cipher', async () => seal({ header: { enc: 'A128GCM' } })],
    ['algorithm', 'compression', async () => withHeader(await seal(), (h) => ({ ...h, zip: 'DEF' }))],
    [
      'algorithm',
      'what is compressed',
      async () =>
        withHeader(await seal({ plaintext: deflateRawSync(Buffer.alloc(64 * 1024)) }), (h) => ({
          ...h,
          zip: 'DEF',
        })),
    ],
    [
      'other_key',
      'another key’s',
      async () => seal({ to: other.publicJwk, header: { kid: other.thumbprint } }),
    ],
    ['not_decryptable', 'another key’s under this name', async () => seal({ to: other.publicJwk })],
    ['not_decryptable', 'a changed tag', async () => (await seal()).replace(/\.[^.]{2}([^.]*)$/, '.AA$1')],
    ['not_decryptable', 'a cut tag', async () => (await seal()).replace(/[^.]{4}$/, '')],
    [
      'not_decryptable',
      'a changed header',
      async () => withHeader(await seal(), ({ cty, ...h }) => ({ cty, ...h })),
    ],
    ['not_decryptable', 'a point off the curve', async () => withHeader(await seal(), offTheCurve)],
    ['not_a_credential', 'no JSON', async () => seal({ plaintext: utf8('x') })],
    ['not_a_credential', 'no UTF-8', async () => seal({ plaintext: Uint8Array.of(0xff) })],
    ['not_a_credential', 'no token', async () => seal({ plaintext: utf8('{}') })],
    [
      'not_a_credential',
      'a token of another type',
      async () =>
        seal({ plaintext: utf8('{"token":{"accessToken":"the-credential","tokenType":"Password"}}') }),
    ],
    [
      'not_a_credential',
      'a token twice',
      async () => seal({ plaintext: utf8(`{"token":{},${JSON.stringify(ENVELOPE).slice(1)}`) }),
    ],
  ])('is refused as %s: %s', async (reason, _what, jwe) => {
    expect(SEALED_REFUSAL_REASONS).toContain(reason);
    expect(await reasonOf(await jwe())).toBe(reason);
  });

  it('is refused with any bit flipped', async () => {
    const jwe = await seal();
    const parts = jwe.split('.');
    for (const [at, part] of parts.entries()) {
      if (part === '') continue;
      const bytes = Buffer.from(part, 'base64url');
      for (const place of [0, Math.floor(bytes.length / 2), bytes.length - 1]) {
        const flipped = Buffer.from(bytes);
        flipped[place] = (flipped[place] ?? 0) ^ 1;
        const changed = parts.with(at, flipped.toString('base64url')).join('.');
        expect([at, place, await reasonOf(changed)]).not.toEqual([at, place, 'opened']);
      }
    }
  });
});

/** An ephemeral key that is no point of P-256: answered, it would tell bits of the private key. */
function offTheCurve(header: Record<string, unknown>): unknown {
  const ecdh = createECDH('prime256v1');
  const point = ecdh.generateKeys();
  const x = point.subarray(1, 33).toString('base64url');
  return { ...header, epk: { kty: 'EC', crv: 'P-256', x, y: x } };
}
