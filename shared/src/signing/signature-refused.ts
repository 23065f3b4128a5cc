/**
 * Every reason why a signature is rejected, in the order of the checks. Closed: a new reason is a new
 * version of this list. Outside they are all the same 401 `SIGNATURE_INVALID`; the log has the reason.
 */
export const SIGNATURE_REFUSAL_REASONS = [
  'signature_input_missing',
  'signature_input_repeated',
  'signature_missing',
  'signature_repeated',
  'label',
  'signature_input_malformed',
  'signature_malformed',
  'tag',
  'algorithm',
  'parameter_unknown',
  'parameter_missing',
  'created',
  'expires',
  'nonce',
  'key_id',
  'component_malformed',
  'component_repeated',
  'component_unknown',
  'component_missing',
  'content_not_covered',
  'ticket_not_covered',
  'target_not_covered',
  'field_missing',
  'field_repeated',
  'field_value',
  'target',
  'query',
  'key_length',
  'mac',
  'lifetime',
  'not_yet_valid',
  'expired',
  'digest_malformed',
  'digest_mismatch',
] as const;

export type SignatureRefusalReason = (typeof SIGNATURE_REFUSAL_REASONS)[number];

/** A request's signature does not hold. The reason is for the log, never for the caller. */
export class SignatureRefused extends Error {
  override readonly name = 'SignatureRefused';
  readonly reason: SignatureRefusalReason;

  constructor(reason: SignatureRefusalReason) {
    super(`signature refused: ${reason}`);
    this.reason = reason;
  }
}
