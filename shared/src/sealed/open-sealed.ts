import * as z from 'zod';
import { fromBase64url } from '../bytes.ts';
import { parseJsonObject, parseWireObject } from '../json.ts';
import { type CredentialEnvelope, credentialEnvelopeSchema } from '../schemas/credential-envelope.ts';
import { recipientSchemas } from '../schemas/recipient.ts';
import { Secret } from '../secret.ts';
import type { SealingKey } from './sealing-key.ts';

/**
 * Why a sealed credential was not opened. Closed.
 *
 * - `too_large`: larger than any credential
 * - `malformed`: not the compact form of RFC 7516, or a header that is not the one of PROTOCOL.md section 5.4
 * - `algorithm`: not ECDH-ES with A256GCM, or compressed
 * - `other_key`: sealed to another key
 * - `not_decryptable`: sealed to this key and changed since, or not really
 * - `not_a_credential`: the content is no credential envelope
 */
export const SEALED_REFUSAL_REASONS = [
  'too_large',
  'malformed',
  'algorithm',
  'other_key',
  'not_decryptable',
  'not_a_credential',
] as const;
export type SealedRefusalReason = (typeof SEALED_REFUSAL_REASONS)[number];

/** A sealed credential could not be opened. Holds nothing of it. */
export class SealedRefused extends Error {
  override readonly name = 'SealedRefused';
  readonly reason: SealedRefusalReason;

  constructor(reason: SealedRefusalReason) {
    super(`the sealed credential was not opened: ${reason}`);
    this.reason = reason;
  }
}

/** Four secret fields of 64 KiB, each byte escaped in JSON and all of it in base64url, are less. */
const MAX_CHARACTERS = 2_500_000;

/**
 * PROTOCOL.md section 5.4 and RFC 7518 section 4.6.1. Any other member could change what the rest means: none is known.
 */
const headerSchema = z.strictObject({
  alg: z.string(),
  enc: z.string(),
  kid: z.string(),
  cty: z.literal('json'),
  zip: z.string().optional(),
  epk: z.discriminatedUnion('crv', [
    recipientSchemas['P-256'].pick({ kty: true, crv: true, x: true, y: true }),
    recipientSchemas['P-384'].pick({ kty: true, crv: true, x: true, y: true }),
    recipientSchemas.X25519.pick({ kty: true, crv: true, x: true }),
  ]),
});

/**
 * Opens what `GET /v1/credential` answers for a record that was stored with `delivery: sealed`: a compact JWE
 * (`application/jose`, PROTOCOL.md section 5.4).
 * @param text the body of the answer
 * @throws SealedRefused
 */
export async function openSealed(text: string, key: SealingKey): Promise<Secret<CredentialEnvelope>> {
  if (text.length > MAX_CHARACTERS) throw new SealedRefused('too_large');
  const { alg, enc, kid, zip, epk } = headerOf(text);
  if (alg !== 'ECDH-ES' || enc !== 'A256GCM' || zip !== undefined) throw new SealedRefused('algorithm');
  if (kid !== key.thumbprint) throw new SealedRefused('other_key');
  if (epk.crv !== key.publicJwk.crv) throw new SealedRefused('malformed');
  return new Secret(envelopeIn(await decrypt(text, key)));
}

function headerOf(text: string): z.infer<typeof headerSchema> {
  const [first, encryptedKey, ...others] = text.split('.', 6);
  const bytes = fromBase64url(first ?? '');
  // With ECDH-ES alone the key is agreed on and not sent (RFC 7518 section 4.6).
  if (bytes === undefined || encryptedKey !== '' || others.length !== 3) throw new SealedRefused('malformed');
  const header = headerSchema.safeParse(readOr('malformed', () => parseJsonObject(bytes)));
  if (!header.success) throw new SealedRefused('malformed');
  return header.data;
}

async function decrypt(text: string, { privateJwk }: SealingKey): Promise<Uint8Array> {
  // Loaded by those who open: the webhook only seals.
  const { compactDecrypt, importJWK } = await import('jose');
  try {
    const key = await importJWK({ ...privateJwk.reveal() }, 'ECDH-ES');
    const { plaintext } = await compactDecrypt(text, key, {
      keyManagementAlgorithms: ['ECDH-ES'],
      contentEncryptionAlgorithms: ['A256GCM'],
    });
    return plaintext;
  } catch {
    throw new SealedRefused('not_decryptable');
  }
}

function envelopeIn(plaintext: Uint8Array): CredentialEnvelope {
  const envelope = credentialEnvelopeSchema.safeParse(
    readOr('not_a_credential', () => parseWireObject(plaintext)),
  );
  if (!envelope.success) throw new SealedRefused('not_a_credential');
  return envelope.data;
}

function readOr<T>(reason: SealedRefused['reason'], read: () => T): T {
  try {
    return read();
  } catch {
    throw new SealedRefused(reason);
  }
}
