import { sha256, toBase64url, toHex, utf8 } from '@svault/shared';
import type { BindingCodes } from './binding-codes.ts';

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

export interface Registration {
  readonly link: string;
  readonly fingerprint: string;
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number;
}

/**
 * Mints a code for a secret and makes the link that carries it.
 *
 * @throws AppError SETUP_REQUIRED where a binding is complete
 */
export async function makeRegistration(
  deps: {
    readonly codes: Pick<BindingCodes, 'mint'>;
    readonly serviceUrl: string;
    readonly webhookUrl: string;
  },
  secret: Uint8Array,
): Promise<Registration> {
  const { codes, serviceUrl, webhookUrl } = deps;
  const { code, expiresAtMs } = await codes.mint(secret);
  const hmacHash = hmacHashOf(secret);
  const link = registrationLink({ serviceUrl, webhookUrl, code, hmacHash });
  return { link, fingerprint: fingerprintOf(hmacHash), expiresAtMs };
}
