import { createECDH } from 'node:crypto';
import type { ECDH } from 'node:crypto';
import { z } from 'zod';
import { toBase64url } from '../bytes.ts';
import { recipientSchema } from '../schemas/store.ts';
import { Secret } from '../secret.ts';
import { jwkThumbprint } from './thumbprint.ts';

/** P-256 as OpenSSL names it. */
const P_256 = 'prime256v1';
const COORDINATE_BYTES = 32;

/** A public key as it stands in `recipients` of `POST /v1/store` (RFC 7518 section 6.2.1). */
export interface SealingPublicJwk {
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
}

/** RFC 7518 section 6.2.2. */
export interface SealingPrivateJwk extends SealingPublicJwk {
  readonly d: string;
}

/** Unknown members are refused; a kid and what it is used for may stand there. */
const privateJwkSchema = recipientSchema.extend({
  d: z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'not a private key of P-256'),
});

/** A pair of keys that credentials are sealed to. */
export interface SealingKey {
  readonly publicJwk: SealingPublicJwk;
  /** RFC 7638: the agent's `sealingKeyThumbprint`, a ticket's `cnf.jkt`, and the `kid` of what is sealed. */
  readonly thumbprint: string;
  /** For the caller to keep where secrets are kept; {@link readSealingKey} reads it again. */
  readonly privateJwk: Secret<SealingPrivateJwk>;
}

/** A new pair. */
export function createSealingKey(): SealingKey {
  const pair = createECDH(P_256);
  pair.generateKeys();
  return sealingKeyOf(pair);
}

/**
 * A pair from its private JWK, as it was kept.
 *
 * @throws RangeError for anything else, a public part that is not the private one's included; it says nothing of the key
 */
export function readSealingKey(jwk: unknown): SealingKey {
  const parsed = privateJwkSchema.safeParse(jwk);
  const pair = parsed.success ? pairOf(parsed.data.d) : undefined;
  const key = pair && sealingKeyOf(pair);
  if (key === undefined || key.publicJwk.x !== parsed.data?.x || key.publicJwk.y !== parsed.data.y)
    throw new RangeError('not a private EC P-256 key in JWK form');
  return key;
}

function pairOf(d: string): ECDH | undefined {
  const pair = createECDH(P_256);
  try {
    pair.setPrivateKey(d, 'base64url');
    return pair;
  } catch {
    return undefined;
  }
}

/** The public part is computed from the private one. */
function sealingKeyOf(pair: ECDH): SealingKey {
  // SEC 1 section 2.3.3: 4, then both coordinates.
  const point = pair.getPublicKey();
  const x = toBase64url(point.subarray(1, 1 + COORDINATE_BYTES));
  const y = toBase64url(point.subarray(1 + COORDINATE_BYTES));
  // Leading zeros are part of it (RFC 7518 section 6.2.2.1), and left out by Node.
  const d = pair.getPrivateKey('hex').padStart(2 * COORDINATE_BYTES, '0');
  const publicJwk = { kty: 'EC', crv: 'P-256', x, y } as const;
  return {
    publicJwk,
    thumbprint: jwkThumbprint(publicJwk),
    privateJwk: new Secret({ ...publicJwk, d: toBase64url(Buffer.from(d, 'hex')) }),
  };
}
