import { constantTimeEqual, fromBase64url } from '../bytes.ts';
import { JsonRefused, parseJsonObject } from '../json.ts';
import { KEY_BYTES, hmacSha256 } from '../signing/hmac.ts';
import { KEY_ID } from '../signing/signature-input.ts';
import { type TicketOp, type TicketFor, MAX_TICKET_CHARACTERS } from './claims.ts';
import { readClaims } from './read-claims.ts';
import { type TicketRefusalReason, TicketRefused } from './ticket-refused.ts';

/** The requirements of a verifier. */
export interface TicketPolicy<Op extends TicketOp> {
  readonly op: Op;
  /** The control plane's base URL as configured; compared byte for byte. */
  readonly issuer: string;
  /** The webhook's own id. */
  readonly audience: string;
  /** The 32 bytes of a key that tickets may be signed with; a pending key is none (PROTOCOL.md section 5.1). */
  keyFor(kid: string): Uint8Array | undefined;
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Verifies a ticket as PROTOCOL.md section 4 asks: form, header, key, MAC in constant time, and only then the claims
 * and times. The caller must still claim `jti` (until `ticketClaimUntil`), atomically and durably, once.
 * @returns the claims that the protocol knows; others are dropped
 * @throws TicketRefused, and nothing else, whatever was sent
 */
export function verifyTicket<Op extends TicketOp>(token: string, policy: TicketPolicy<Op>): TicketFor<Op> {
  if (token.length > MAX_TICKET_CHARACTERS) refuse('too_long');
  const [header, payload, signature, ...others] = token.split('.', 4);
  if (header === undefined || payload === undefined || signature === undefined || others.length > 0)
    return refuse('not_compact');
  const mac = fromBase64url(signature) ?? refuse('not_compact');
  const key = policy.keyFor(readKeyId(header)) ?? refuse('unknown_key');
  if (key.byteLength !== KEY_BYTES) refuse('key_length');
  const expected = hmacSha256(key, `${header}.${payload}`);
  if (!constantTimeEqual(expected, mac)) refuse('mac');
  const claims = fromBase64url(payload) ?? refuse('claims_malformed');
  return readClaims(parseMembers(claims, 'claims_malformed'), policy);
}

/** What `issueTicket` writes. */
const OUR_HEADER = /^\{"alg":"HS256","typ":"sv-ticket\+jwt","kid":"([A-Za-z0-9_-]{1,64})"\}$/;

/** PROTOCOL.md section 4: exactly `alg`, `typ` and `kid`, so nothing like `crit`, `jwk` or `zip` needs an opinion. */
function readKeyId(header: string): string {
  const bytes = fromBase64url(header) ?? refuse('header_malformed');
  const ours = OUR_HEADER.exec(bytes.toString('latin1'))?.[1];
  if (ours !== undefined) return ours;
  const { alg, typ, kid, ...others } = parseMembers(bytes, 'header_malformed');
  if (Object.keys(others).length > 0) refuse('header_members');
  if (alg !== 'HS256') refuse('algorithm');
  if (typ !== 'sv-ticket+jwt') refuse('type');
  return typeof kid === 'string' && KEY_ID.test(kid) ? kid : refuse('key_id');
}

function parseMembers(bytes: Uint8Array, reason: TicketRefusalReason): Record<string, unknown> {
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (error instanceof JsonRefused) refuse(reason);
    throw error;
  }
}

function refuse(reason: TicketRefusalReason): never {
  throw new TicketRefused(reason);
}
