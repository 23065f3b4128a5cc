/** Why a ticket is rejected, in the order of the checks: for the log, since callers see one 401 `TICKET_INVALID`. */
export const TICKET_REFUSAL_REASONS = [
  'too_long',
  'not_compact',
  'header_malformed',
  'header_members',
  'algorithm',
  'type',
  'key_id',
  'unknown_key',
  'key_length',
  'mac',
  'claims_malformed',
  'issuer',
  'audience',
  'operation',
  'subject',
  'service',
  'ticket_id',
  'issued_at',
  'expires_at',
  'lifetime',
  'not_yet_valid',
  'expired',
  'grant',
  'refresh_policy',
  'confirmation',
  'if_version',
  'method',
  'proxy',
] as const;

export type TicketRefusalReason = (typeof TICKET_REFUSAL_REASONS)[number];

/** A ticket does not hold. The reason is for the log, never for the caller. */
export class TicketRefused extends Error {
  override readonly name = 'TicketRefused';
  readonly reason: TicketRefusalReason;

  constructor(reason: TicketRefusalReason) {
    super(`ticket refused: ${reason}`);
    this.reason = reason;
  }
}
