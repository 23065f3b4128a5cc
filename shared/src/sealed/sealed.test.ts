import { deflateRawSync } from 'node:zlib';
import { CompactEncrypt, calculateJwkThumbprint, importJWK } from 'jose';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../bytes.ts';
import { type Recipient, recipientSchema } from '../schemas/recipient.ts';
import { SEALED_REFUSAL_REASONS, SealedRefused, openSealed } from './open-sealed.ts';
import {
  SEALING_CURVES,
  type SealingPublicJwk,
  createSealingKey,
  isUsableRecipient,
  readSealingKey,
} from './sealing-key.ts';

const ENVELOPE = {
  token: {
    accessToken: 'the-credential',
    serviceName: 'github',
    tokenType: 'PlainText',
    createdAt: '2026-11-20T12:00:00.000Z',
  },
};

describe.each(SEALING_CURVES)('with %s:', (curve) => {
  const KEY = createSealingKey(curve);
  const another = () => createSealingKey(curve);

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
    it('has the thumbprint of RFC 7638, and can be restored from its stored form', async () => {
      expect(await calculateJwkThumbprint(KEY.publicJwk)).toBe(KEY.thumbprint);
      const kept: unknown = JSON.parse(JSON.stringify(KEY.privateJwk.reveal()));
      expect(readSealingKey(kept).thumbprint).toBe(KEY.thumbprint);
      expect(another().thumbprint).not.toBe(KEY.thumbprint);
    });

    it('has coordinates of full length, also with leading zeros', () => {
      const full = curve === 'P-384' ? 64 : 43;
      for (let tries = 0; tries < 600; tries++) {
        const { x, d, ...rest } = another().privateJwk.reveal();
        const y = 'y' in rest ? rest.y : x;
        expect([x, y, d].map(({ length }) => length)).toEqual([full, full, full]);
      }
    });

    it('does not print its private key', () => {
      const { d } = KEY.privateJwk.reveal();
      expect(inspect(KEY, { depth: 9 }) + JSON.stringify(KEY)).not.toContain(d);
      expect(KEY.publicJwk).not.toHaveProperty('d');
    });

    const jwk = KEY.privateJwk.reveal();
    it.each([
      ['nothing', undefined],
      ['a public key', KEY.publicJwk],
      ...SEALING_CURVES.filter((each) => each !== curve).map(
        (crv) => [`another curve, ${crv}`, { ...jwk, crv }] as [string, unknown],
      ),
      ['another family of curves', { ...jwk, kty: jwk.kty === 'EC' ? 'OKP' : 'EC' }],
      ['somebody else’s public part', { ...jwk, ...another().publicJwk }],
      ['zero', { ...jwk, d: 'A'.repeat(jwk.d.length) }],
      ['a number beyond the curve', { ...jwk, d: '_'.repeat(jwk.d.length - 1) + '8' }],
      ['another spelling of its number', { ...jwk, d: `${jwk.d}=` }],
      ['an unknown member', { ...jwk, ext: true }],
      ['text', JSON.stringify(jwk)],
    ])('cannot be created from %s', (_what, given) => {
      expect(() => readSealingKey(given)).toThrow(
        new RangeError('not a private key of P-256, P-384 or X25519 in JWK form'),
      );
    });
  });

  describe('a sealed credential', () => {
    it('opens with the key that it was sealed to, and does not print', async () => {
      const opened = await openSealed(await seal(), KEY);
      expect(opened.reveal()).toEqual(ENVELOPE);
      expect(inspect(opened) + JSON.stringify(opened)).not.toContain('the-credential');
      expect((await openSealed(await seal(), readSealingKey(KEY.privateJwk.reveal()))).reveal()).toEqual(
        ENVELOPE,
      );
    });

    it('may have the maximum size of a credential', async () => {
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

    const other = another();
    /** A sealed credential whose header was changed afterwards. */
    const changed = (change: (header: Record<string, unknown>) => unknown) => async () =>
      withHeader(await seal(), change);
    const having = (members: object) => changed((header) => ({ ...header, ...members }));
    const holding = (text: string) => () => seal({ plaintext: utf8(text) });
    it.each<[reason: string, what: string, jwe: () => Promise<string>]>([
      ['too_large', 'more than any credential', async () => `${await seal()}${'A'.repeat(2_500_000)}`],
      ['malformed', 'nothing', async () => ''],
      ['malformed', 'JSON', async () => JSON.stringify(ENVELOPE)],
      ['malformed', 'four parts', async () => (await seal()).split('.').slice(0, 4).join('.')],
      ['malformed', 'six parts', async () => `${await seal()}.`],
      ['malformed', 'an encrypted key', async () => (await seal()).replace('..', '.AAAA.')],
      ['malformed', 'padding', async () => (await seal()).replace('.', '=.')],
      ['malformed', 'a header that is no JSON', changed(() => 'x')],
      ['malformed', 'a list for a header', changed(() => [])],
      ['malformed', 'no kid', () => seal({ header: { kid: undefined } })],
      ['malformed', 'another content', () => seal({ header: { cty: 'JWT' } })],
      ['malformed', 'no ephemeral key', having({ epk: undefined })],
      ['malformed', 'critical members', having({ crit: ['b64'] })],
      ['malformed', 'an address of a key', having({ jku: 'https://a' })],
      ['malformed', 'an agreement with names', having({ apu: 'QQ' })],
      ['malformed', 'a member twice', changed((h) => JSON.stringify(h).replace('{', '{"alg":"dir",'))],
      ['algorithm', 'dir', having({ alg: 'dir' })],
      ['malformed', 'a wrapped key', () => seal({ header: { alg: 'ECDH-ES+A256KW' } })],
      ['algorithm', 'another cipher', () => seal({ header: { enc: 'A128GCM' } })],
      ['algorithm', 'compression', having({ zip: 'DEF' })],
      [
        'algorithm',
        'what is compressed',
        async () =>
          withHeader(await seal({ plaintext: deflateRawSync(Buffer.alloc(64 * 1024)) }), (h) => ({
            ...h,
            zip: 'DEF',
          })),
      ],
      ['other_key', 'another key’s', () => seal({ to: other.publicJwk, header: { kid: other.thumbprint } })],
      ['not_decryptable', 'another key’s under this name', () => seal({ to: other.publicJwk })],
      ['not_decryptable', 'a changed tag', async () => (await seal()).replace(/\.[^.]{2}([^.]*)$/, '.AA$1')],
      ['not_decryptable', 'a cut tag', async () => (await seal()).replace(/[^.]{4}$/, '')],
      ['not_decryptable', 'a changed header', changed(({ cty, ...h }) => ({ cty, ...h }))],
      ['not_decryptable', 'a point off the curve', having({ epk: badPoint(KEY.publicJwk) })],
      ...SEALING_CURVES.filter((each) => each !== curve).map(
        (crv): [string, string, () => Promise<string>] => [
          'malformed',
          `an ephemeral key of ${crv}`,
          having({ epk: createSealingKey(crv).publicJwk }),
        ],
      ),
      ['malformed', 'a private ephemeral key', having({ epk: another().privateJwk.reveal() })],
      ['not_a_credential', 'no JSON', holding('x')],
      ['not_a_credential', 'no UTF-8', () => seal({ plaintext: Uint8Array.of(0xff) })],
      ['not_a_credential', 'no token', holding('{}')],
      [
        'not_a_credential',
        'a token of another type',
        holding('{"token":{"accessToken":"the-credential","tokenType":"Password"}}'),
      ],
      ['not_a_credential', 'a token twice', holding(`{"token":{},${JSON.stringify(ENVELOPE).slice(1)}`)],
    ])('is rejected as %s: %s', async (reason, _what, jwe) => {
      expect(SEALED_REFUSAL_REASONS).toContain(reason);
      expect(await reasonOf(await jwe())).toBe(reason);
    });

    it('is rejected with any bit flipped', async () => {
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
});

it('a P-256 sealing key with leading zeros is accepted', () => {
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

/** A public key that tells something of the private one, or agrees on a secret that anybody knows. */
function badPoint(jwk: SealingPublicJwk): object {
  return jwk.kty === 'EC' ? { ...jwk, y: jwk.x } : { ...jwk, x: SMALL_ORDER[1] };
}

/**
 * X25519 points with which every secret is zero (RFC 7748 section 6.1): 0, 1 and the points of order 8, p - 1, p and p
 * + 1.
 */
const SMALL_ORDER = [
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
].map((hex) => Buffer.from(hex, 'hex').toString('base64url'));

describe('a recipient', () => {
  it.each(SEALING_CURVES)('of %s can be sealed to', (curve) => {
    const { publicJwk } = createSealingKey(curve);
    expect(recipientSchema.parse(publicJwk)).toEqual(publicJwk);
    expect(isUsableRecipient(publicJwk)).toBe(true);
  });

  it.each(SMALL_ORDER)('of X25519 that agrees on zeros cannot: %s', (x) => {
    const jwk = { kty: 'OKP', crv: 'X25519', x } as const;
    expect(recipientSchema.parse(jwk)).toEqual(jwk);
    expect(isUsableRecipient(jwk)).toBe(false);
  });

  it.each(['P-256', 'P-384'] as const)('off %s cannot', (curve) => {
    const { publicJwk } = createSealingKey(curve);
    expect(isUsableRecipient({ ...publicJwk, y: publicJwk.x } as Recipient)).toBe(false);
  });

  const [p256, p384, x25519] = SEALING_CURVES.map((curve) => createSealingKey(curve).publicJwk);
  it.each([
    ['a private member', { ...createSealingKey('X25519').privateJwk.reveal() }],
    ['EC with X25519', { ...x25519, kty: 'EC' }],
    ['OKP with P-256', { ...p256, kty: 'OKP' }],
    ['P-384 with coordinates of P-256', { ...p256, crv: 'P-384' }],
    ['P-256 with coordinates of P-384', { ...p384, crv: 'P-256' }],
    ['a second coordinate of X25519', { ...x25519, y: x25519?.x }],
    ['no second coordinate of P-384', { ...p384, y: undefined }],
    ['Ed25519, which signs', { ...x25519, crv: 'Ed25519' }],
    ['P-521', { ...p384, crv: 'P-521' }],
    ['padding', { ...x25519, x: `${x25519?.x}=` }],
    ['another use', { ...x25519, use: 'sig' }],
    ['another algorithm', { ...x25519, alg: 'ECDH-ES+A256KW' }],
  ])('is rejected with %s', (_what, jwk) => {
    expect(recipientSchema.safeParse(jwk).success).toBe(false);
  });

  it.each(['P-256', 'X25519'] as const)('of %s in another spelling of its bytes cannot', (curve) => {
    const { publicJwk } = createSealingKey(curve);
    const jwk = { ...publicJwk, x: publicJwk.x.replace(/.$/, otherSpelling) };
    expect(recipientSchema.safeParse(jwk).success).toBe(true);
    expect(isUsableRecipient(jwk)).toBe(false);
  });

  it('has the same thumbprint as with jose', async () => {
    for (const curve of SEALING_CURVES) {
      const { publicJwk, thumbprint } = createSealingKey(curve);
      expect(thumbprint).toBe(await calculateJwkThumbprint({ ...publicJwk, kid: 'x', use: 'enc' }));
    }
  });
});

/** The last of 43 characters has two bits that count for nothing. */
function otherSpelling(last: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return alphabet[alphabet.indexOf(last) ^ 1] ?? '';
}
