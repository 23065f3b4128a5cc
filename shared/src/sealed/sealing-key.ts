import {
  type KeyObject,
  createECDH,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
} from 'node:crypto';
import * as z from 'zod';
import { fromBase64url, sha256, toBase64url, utf8 } from '../bytes.ts';
import { type Recipient, base64urlOf, recipientSchemas } from '../schemas/recipient.ts';
import { Secret } from '../secret.ts';

/** What makes a recipient's key, in lexicographic order: RFC 7638 section 3.2, for `OKP` RFC 8037 section 2. */
export type KeyMembers =
  | { readonly crv: 'P-256' | 'P-384'; readonly kty: 'EC'; readonly x: string; readonly y: string }
  | { readonly crv: 'X25519'; readonly kty: 'OKP'; readonly x: string };

/** A key without the optional `kid`, `use` and `alg`. */
export function keyMembers(jwk: KeyMembers | Recipient): KeyMembers {
  return jwk.kty === 'OKP'
    ? { crv: 'X25519', kty: 'OKP', x: jwk.x }
    : { crv: jwk.crv, kty: 'EC', x: jwk.x, y: jwk.y };
}

/** RFC 7638 section 3: SHA-256 over the required members; base64url, 43 characters. */
export function jwkThumbprint(jwk: KeyMembers | Recipient): string {
  return toBase64url(sha256(utf8(JSON.stringify(keyMembers(jwk)))));
}

/**
 * Whether something can be sealed to a key. Its coordinates are a point of its curve, spelt as its thumbprint has them:
 * without bits that count for nothing. With X25519 the shared secret is not zero, as it is with the points of small
 * order (RFC 7748 section 6.1), whatever the other key is.
 */
export function isUsableRecipient(recipient: Recipient): boolean {
  try {
    const publicKey = createPublicKey({ key: { ...keyMembers(recipient) }, format: 'jwk' });
    // OpenSSL refuses a secret of zeros.
    if (recipient.kty === 'OKP')
      diffieHellman({ privateKey: generateKeyPairSync('x25519').privateKey, publicKey });
    const { x, y } = { y: '', ...keyMembers(recipient) };
    return [x, y].every((text) => fromBase64url(text) !== undefined);
  } catch {
    return false;
  }
}

/** Of PROTOCOL.md section 5.5. */
export const SEALING_CURVES = ['P-256', 'P-384', 'X25519'] as const;
export type SealingCurve = (typeof SEALING_CURVES)[number];

/** A public key, as in `recipients` of `POST /v1/store` (RFC 7518 section 6.2.1, RFC 8037 section 2). */
export type SealingPublicJwk = KeyMembers;

/** RFC 7518 section 6.2.2, RFC 8037 section 2. */
export type SealingPrivateJwk = SealingPublicJwk & { readonly d: string };

/** Unknown members are rejected; `kid`, `use` and `alg` are permitted. */
const privateJwkSchema = z.discriminatedUnion('crv', [
  recipientSchemas['P-256'].extend({ d: base64urlOf(32) }),
  recipientSchemas['P-384'].extend({ d: base64urlOf(48) }),
  recipientSchemas.X25519.extend({ d: base64urlOf(32) }),
]);
type PrivateJwk = z.infer<typeof privateJwkSchema>;

/** A pair of keys that credentials are sealed to. */
export interface SealingKey {
  readonly publicJwk: SealingPublicJwk;
  /** RFC 7638: the agent's `sealingKeyThumbprint`, a ticket's `cnf.jkt`, and the `kid` of a sealed credential. */
  readonly thumbprint: string;
  /** The caller stores it as a secret; {@link readSealingKey} reads it. */
  readonly privateJwk: Secret<SealingPrivateJwk>;
}

/** A new pair. */
export function createSealingKey(curve: SealingCurve = 'P-256'): SealingKey {
  const { privateKey } =
    curve === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: curve });
  return sealingKeyOf(privateKey);
}

/**
 * A pair from its stored private JWK.
 * @throws RangeError for anything else, a public part that is not the private one's included; it says nothing of the
 *   key
 */
export function readSealingKey(jwk: unknown): SealingKey {
  const { data } = privateJwkSchema.safeParse(jwk);
  const key = data && pairOf(data);
  if (key === undefined || key.thumbprint !== jwkThumbprint(data as KeyMembers))
    throw new RangeError('not a private key of P-256, P-384 or X25519 in JWK form');
  return key;
}

/** The public part is computed from the private one, which Node does for X25519 alone. */
function pairOf(jwk: PrivateJwk): SealingKey | undefined {
  try {
    return jwk.kty === 'EC' ? ecPairOf(jwk) : sealingKeyOf(createPrivateKey({ key: jwk, format: 'jwk' }));
  } catch {
    return undefined;
  }
}

function ecPairOf({ crv, d }: Extract<PrivateJwk, { kty: 'EC' }>): SealingKey {
  const pair = createECDH(crv === 'P-256' ? 'prime256v1' : 'secp384r1');
  pair.setPrivateKey(d, 'base64url');
  // SEC 1 section 2.3.3: 4, then both coordinates.
  const point = pair.getPublicKey();
  const middle = (point.length + 1) / 2;
  const [x, y] = [toBase64url(point.subarray(1, middle)), toBase64url(point.subarray(middle))];
  return keyOf({ crv, kty: 'EC', x, y }, d);
}

function sealingKeyOf(privateKey: KeyObject): SealingKey {
  const { d = '', ...jwk } = privateKey.export({ format: 'jwk' });
  return keyOf(keyMembers(jwk as KeyMembers), d);
}

const keyOf = (publicJwk: SealingPublicJwk, d: string): SealingKey => ({
  publicJwk,
  thumbprint: jwkThumbprint(publicJwk),
  privateJwk: new Secret({ ...publicJwk, d }),
});
