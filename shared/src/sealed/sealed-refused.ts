/**
 * Why a sealed credential was not opened. Closed.
 *
 * - `too_large`: larger than any credential
 * - `malformed`: not the compact form of RFC 7516, or a header that is not the one of PROTOCOL.md section 5.4
 * - `algorithm`: not ECDH-ES with A256GCM, or compressed
 * - `other_key`: sealed to another key
 * - `not_decryptable`: sealed to this key and changed since, or not really
 * - `not_a_credential`: what was inside is no credential envelope
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
