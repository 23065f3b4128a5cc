import { createECDH, createPrivateKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { toBase64url } from '../bytes.ts';
import { base64urlOf, recipientSchemas } from '../schemas/recipient.ts';
import { Secret } from '../secret.ts';
import { type KeyMembers, jwkThumbprint, keyMembers } from './thumbprint.ts';

/** Of PROTOCOL.md section 5.5. */
export const SEALING_CURVES = ['P-256', 'P-384', 'X25519'] as const;
export type SealingCurve = (typeof SEALING_CURVES)[number];

/** A public key as it stands in `recipients` of `POST /v1/store` (RFC 7518 section 6.2.1, RFC 8037 section 2). */
export type SealingPublicJwk = KeyMembers;

/** RFC 7518 section 6.2.2, RFC 8037 section 2. */
export type SealingPrivateJwk = SealingPublicJwk & { readonly d: string };

/** Unknown members are refused; a kid and what it is used for may stand there. */
const privateJwkSchema = z.discriminatedUnion('crv', [
  recipientSchemas['P-256'].extend({ d: base64urlOf(32) }),
  recipientSchemas['P-384'].extend({ d: base64urlOf(48) }),
  recipientSchemas.X25519.extend({ d: base64urlOf(32) }),
]);
type PrivateJwk = z.infer<typeof privateJwkSchema>;

/** A pair of keys that credentials are sealed to. */
export interface SealingKey {
  readonly publicJwk: SealingPublicJwk;
  /** RFC 7638: the agent's `sealingKeyThumbprint`, a ticket's `cnf.jkt`, and the `kid` of what is sealed. */
  readonly thumbprint: string;
  /** For the caller to keep where secrets are kept; {@link readSealingKey} reads it again. */
  readonly privateJwk: Secret<SealingPrivateJwk>;
}

/** A new pair. */
export function createSealingKey(curve: SealingCurve = 'P-256'): SealingKey {
  const { privateKey } =
    curve === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: curve });
  return sealingKeyOf(privateKey);
}

/**
 * A pair from its private JWK, as it was kept.
 *
 * @throws RangeError for anything else, a public part that is not the private one's included; it says nothing of the key
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
