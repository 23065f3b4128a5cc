import { KEY_BYTES, encodedHmacSha256 } from '../signing/hmac.ts';
import type { HmacKey } from '../signing/message.ts';
import { KEY_ID } from '../signing/signature-input.ts';
import { type TicketClaims, MAX_TICKET_CHARACTERS } from './claims.ts';

/** A control plane has a key id per account; the cache of encoded headers is cleared at this size. */
const MAX_HEADERS = 10_000;
const headerByKeyId = new Map<string, string>();

/**
 * Issues a ticket: JWS compact (RFC 7515 section 3.1), HS256. By hand, since this is on the path of every credential
 * request and a general library costs ten times as much; tests read and write the same tickets with one.
 * @throws RangeError for a key of another length than 32 bytes, a malformed key id, or a ticket above 4096 characters
 */
export function issueTicket(claims: TicketClaims, key: HmacKey): string {
  if (key.secret.byteLength !== KEY_BYTES) throw new RangeError('a ticket is signed with 32 bytes');
  const payload = Buffer.from(JSON.stringify(claims), 'utf8').toString('base64url');
  const signingInput = `${headerFor(key.id)}.${payload}`;
  const mac = encodedHmacSha256(key.secret, signingInput, 'base64url');
  const ticket = `${signingInput}.${mac}`;
  if (ticket.length > MAX_TICKET_CHARACTERS) throw new RangeError('a ticket has at most 4096 characters');
  return ticket;
}

/** PROTOCOL.md section 4: `alg`, `typ` and `kid`, these three members and no others. */
function headerFor(keyId: string): string {
  const known = headerByKeyId.get(keyId);
  if (known !== undefined) return known;
  if (!KEY_ID.test(keyId)) throw new RangeError('a key id is 1 to 64 of A-Z a-z 0-9 _ -');
  const members = JSON.stringify({ alg: 'HS256', typ: 'sv-ticket+jwt', kid: keyId });
  const header = Buffer.from(members, 'utf8').toString('base64url');
  if (headerByKeyId.size >= MAX_HEADERS) headerByKeyId.clear();
  headerByKeyId.set(keyId, header);
  return header;
}
