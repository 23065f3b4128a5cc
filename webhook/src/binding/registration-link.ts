import { sha256, toBase64url, toHex, utf8 } from '@svault/shared';
import type { BindingCodes } from './binding-codes.ts';

/** Hex digits of a fingerprint, and the groups that a human compares. */
const FINGERPRINT_DIGITS = 16;
const GROUP = /.{4}/g;

/** `hmac_hash` of PROTOCOL.md section 5.1: lower-case hex SHA-256 of the secret's 32 bytes. */
export const hmacHashOf = (secret: Uint8Array): string => toHex(sha256(secret));

/** What the owner compares on both sides: the hash's first 16 digits, in groups of four. */
export function fingerprintOf(hmacHash: string): string {
  return (hmacHash.slice(0, FINGERPRINT_DIGITS).match(GROUP) ?? []).join(' ');
}

/** The one-time link to the control plane's bind page (PROTOCOL.md section 5.1). */
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

/**
 * Makes a code for a secret and the link that carries it.
 *
 * @returns link, fingerprint and the code's expiry (milliseconds since 1970)
 * @throws ApiError SETUP_REQUIRED if a binding is complete, or a restore was not followed by `unseal-bind`
 */
export async function makeRegistration(
  deps: {
    readonly codes: Pick<BindingCodes, 'make'>;
    readonly serviceUrl: string;
    readonly webhookUrl: string;
  },
  secret: Uint8Array,
): Promise<{ readonly link: string; readonly fingerprint: string; readonly expiresAtMs: number }> {
  const { codes, serviceUrl, webhookUrl } = deps;
  const { code, expiresAtMs } = await codes.make(secret);
  const hmacHash = hmacHashOf(secret);
  const link = registrationLink({ serviceUrl, webhookUrl, code, hmacHash });
  return { link, fingerprint: fingerprintOf(hmacHash), expiresAtMs };
}
