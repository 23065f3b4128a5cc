import { constantTimeEqual } from '../bytes.ts';
import { HTTP_TARGET_HEADER } from '../http-target.ts';
import { verifyContentDigest } from './content-digest.ts';
import { hmacSha256, isRequestKeyLength } from './hmac.ts';
import { type SignedMessage, type HeaderPairs, fieldValues } from './message.ts';
import { signatureBase } from './signature-base.ts';
import { type SignatureInput, readSignatureInput, readSignature } from './signature-input.ts';
import { type SignatureRefusalReason, SignatureRefused } from './signature-refused.ts';

/** A nonce is remembered this long after `expires` (PROTOCOL.md section 3): as long as the clocks may differ. */
const NONCE_GRACE_SECONDS = 30;

/** A request whose signature can be read. Nothing in it is proven before {@link verifySignature} returns. */
export interface ParsedSignature extends SignatureInput {
  /** The MAC that was sent. */
  readonly mac: Uint8Array;
}

/** The requirements of a verifier. */
export interface SignaturePolicy {
  /** The key that `keyId` names: 32 bytes; for `keyId` `bind` the code's 36. */
  readonly key: Uint8Array;
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: number;
  /** PROTOCOL.md section 3: how far the clocks may differ. */
  readonly skewSeconds: 30;
  /** PROTOCOL.md section 3: the longest `expires - created`. */
  readonly maxLifetimeSeconds: 60;
}

/** First half of PROTOCOL.md section 3's work: headers, parameters, coverage; no key. @throws SignatureRefused alone */
export function parseSignature(message: SignedMessage): ParsedSignature {
  const inputValue = only(
    message.headers,
    'signature-input',
    'signature_input_missing',
    'signature_input_repeated',
  );
  const signatureValue = only(message.headers, 'signature', 'signature_missing', 'signature_repeated');
  const input = readSignatureInput(inputValue);
  const mac = readSignature(signatureValue);
  checkCoverage(message, input.covered);
  return { ...input, mac };
}

/**
 * Second half: MAC in constant time, times, digest over the raw bytes. The caller must still claim the
 * nonce (until {@link nonceClaimUntil}), atomically and durably per key id, and only then to read the body.
 * @param parsed of the same message
 * @throws SignatureRefused, and nothing else, whatever was sent
 */
export function verifySignature(
  message: SignedMessage,
  parsed: ParsedSignature,
  policy: SignaturePolicy,
): void {
  verifySignatureHead(message, parsed, policy);
  verifySignatureBody(message, parsed);
}

/**
 * MAC and times, from the head alone: the MAC covers the digest and not the body, so a stranger is refused before a
 * byte of the body is read. The body is proven by {@link verifySignatureBody}.
 * @param parsed of the same message, whose body may still be on its way and empty here
 * @throws SignatureRefused, and nothing else, whatever was sent
 */
export function verifySignatureHead(
  message: SignedMessage,
  parsed: ParsedSignature,
  policy: SignaturePolicy,
): void {
  if (!isRequestKeyLength(parsed.keyId, policy.key.byteLength)) refuse('key_length');
  const base = signatureBase(message, parsed.covered, parsed.signatureParams);
  if (!constantTimeEqual(hmacSha256(policy.key, base), parsed.mac)) refuse('mac');
  checkTimes(parsed, policy);
}

/**
 * That a body which came after its head is the one that was signed: covered if it has a byte, and of the digest.
 * @param message with its whole body
 * @throws SignatureRefused, and nothing else, whatever was sent
 */
export function verifySignatureBody(message: SignedMessage, { covered }: ParsedSignature): void {
  checkBodyCoverage(message, covered);
  if (!covered.includes('content-digest')) return;
  const digest = only(message.headers, 'content-digest', 'field_missing', 'field_repeated');
  verifyContentDigest(digest, message.body);
}

/** Until when a nonce has to be remembered, seconds since 1970: the moment after which its request is too old. */
export function nonceClaimUntil(parsed: Pick<ParsedSignature, 'expires'>): number {
  return parsed.expires + NONCE_GRACE_SECONDS;
}

/** PROTOCOL.md section 3: what must be covered beyond the four that always are. */
function checkCoverage(message: SignedMessage, covered: readonly string[]): void {
  // `@query` is always `?`, so a signed request has none (not even an empty one, which signs alike).
  if (message.query !== '') refuse('query');
  checkBodyCoverage(message, covered);
  if (fieldValues(message.headers, 'sv-ticket').length > 0 && !covered.includes('sv-ticket'))
    refuse('ticket_not_covered');
  if (fieldValues(message.headers, HTTP_TARGET_HEADER).length > 0 && !covered.includes(HTTP_TARGET_HEADER))
    refuse('target_not_covered');
}

function checkBodyCoverage({ body }: SignedMessage, covered: readonly string[]): void {
  if (body.byteLength === 0) return;
  if (!covered.includes('content-type') || !covered.includes('content-digest')) refuse('content_not_covered');
}

function checkTimes(parsed: ParsedSignature, policy: SignaturePolicy): void {
  const { created, expires } = parsed;
  const nowSeconds = policy.nowMs / 1000;
  if (expires <= created || expires - created > policy.maxLifetimeSeconds) refuse('lifetime');
  if (created > nowSeconds + policy.skewSeconds) refuse('not_yet_valid');
  if (nowSeconds > expires + policy.skewSeconds) refuse('expired');
}

function only(
  headers: HeaderPairs,
  name: string,
  whenMissing: SignatureRefusalReason,
  whenRepeated: SignatureRefusalReason,
): string {
  const [value, ...others] = fieldValues(headers, name);
  if (value === undefined) refuse(whenMissing);
  if (others.length > 0) refuse(whenRepeated);
  return value;
}

function refuse(reason: SignatureRefusalReason): never {
  throw new SignatureRefused(reason);
}
