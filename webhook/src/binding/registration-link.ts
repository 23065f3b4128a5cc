import { sha256, toBase64url, toHex, utf8 } from '@svault/shared';

/** Hex digits of a fingerprint, and of each group that a human compares. */
const FINGERPRINT_DIGITS = 16;
const GROUP = /.{4}/g;

/** `hmac_hash` of protocol section 5.1: lower-case hex SHA-256 of the secret's 32 bytes. */
export const hmacHashOf = (secret: Uint8Array): string => toHex(sha256(secret));

/** What the owner compares on both sides: the hash's first 16 digits, in fours. */
export function fingerprintOf(hmacHash: string): string {
  return (hmacHash.slice(0, FINGERPRINT_DIGITS).match(GROUP) ?? []).join(' ');
}

/** The one-time link to the service's bind page (protocol section 5.1). */
export function registrationLink(parts: {
  readonly serviceUrl: string;
  readonly webhookUrl: string;
  readonly code: string;
  readonly hmacHash: string;
}): string {
  const query = new URLSearchParams({
    code: parts.code,
    webhook_url: toBase64url(utf8(parts.webhookUrl)),
    hmac_hash: parts.hmacHash,
  });
  return `${parts.serviceUrl}/vault/webhook-bind?${query.toString()}`;
}
