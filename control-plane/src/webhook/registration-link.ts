import { fromBase64url, parseWebhookUrl } from '@svault/shared';
import type { WebhookAddressRefusalReason } from '@svault/shared';
import { bindCodeSchema, hmacHashSchema } from '@svault/shared/schemas';

/** The content of a webhook's registration link. */
export interface BindOffer {
  /** One-time UUID in lower case. */
  readonly code: string;
  /** The webhook's address in canonical form. */
  readonly webhookUrl: string;
  /** SHA-256 of the webhook's secret, 64 lower-case hex digits; the owner compares its start, the fingerprint. */
  readonly hmacHash: string;
}

const ADDRESS_PROBLEMS: Readonly<Record<WebhookAddressRefusalReason, string>> = {
  malformed: 'is not a web address',
  scheme: 'must start with https://',
  userinfo: 'must have no user name or password',
  query: 'must have no query',
  fragment: 'must have no fragment',
  trailing_slash: 'must not end with a slash',
  path: 'has a path with other characters than letters, digits and . _ ~ - /',
};

/** @returns the end of a sentence about the address, undefined where it is well-formed (PROTOCOL.md section 3) */
export function problemOfWebhookUrl(text: string): string | undefined {
  const address = parseWebhookUrl(text);
  return address.ok ? undefined : ADDRESS_PROBLEMS[address.reason];
}

/** @returns the offer, or undefined where a part is missing or malformed */
export function readOffer({
  code,
  webhookUrl,
  hmacHash,
}: Readonly<Record<keyof BindOffer, string | undefined>>): BindOffer | undefined {
  const readCode = bindCodeSchema.safeParse(code);
  const readHash = hmacHashSchema.safeParse(hmacHash);
  const address = parseWebhookUrl(webhookUrl ?? '');
  if (!readCode.success || !readHash.success || !address.ok) return undefined;
  return { code: readCode.data, webhookUrl: address.url, hmacHash: readHash.data };
}

/**
 * Decodes the `webhook_url` of a link: base64url, or base64 with or without padding, in which a query may have turned `+`
 * into a space (PROTOCOL.md BND-09).
 */
export function decodeWebhookUrl(encoded: string): string | undefined {
  const plain = encoded.replaceAll(' ', '+').replace(/=+$/, '');
  const bytes = fromBase64url(plain.replaceAll('+', '-').replaceAll('/', '_'));
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The first 16 hex digits of the hash in fours, which the owner compares with the webhook's page (PROTOCOL.md BND-05). */
export function fingerprintOf(hmacHash: string): string {
  return hmacHash.slice(0, 16).replaceAll(/(.{4})(?=.)/g, '$1 ');
}
