import { fromBase64url, parseWebhookUrl } from '@svault/shared';
import type { WebhookAddressRefusalReason } from '@svault/shared';
import { bindCodeSchema, hmacHashSchema } from '@svault/shared/schemas';

/** What a webhook's registration link says. */
export interface BindOffer {
  /** One-time UUID in lower case. */
  readonly code: string;
  /** The webhook's address in its one spelling. */
  readonly webhookUrl: string;
  /** SHA-256 of the webhook's secret, 64 lower-case hex digits; its start is the fingerprint that the owner compares. */
  readonly hmacHash: string;
}

const ADDRESS_PROBLEMS: Readonly<Record<WebhookAddressRefusalReason, string>> = {
  malformed: 'is no web address',
  scheme: 'must start with https://',
  userinfo: 'must have no user name or password',
  query: 'must have no query',
  fragment: 'must have no fragment',
  trailing_slash: 'must not end with a slash',
  path: 'has a path with other characters than letters, digits and . _ ~ - /',
};

/** A problem as the end of a sentence about the address, or undefined where it is well-formed (protocol.md section 3). */
export function problemOfWebhookUrl(text: string): string | undefined {
  const address = parseWebhookUrl(text);
  return address.ok ? undefined : ADDRESS_PROBLEMS[address.reason];
}

/** The parts of an offer as they were given. */
export interface OfferParts {
  readonly code: string | undefined;
  readonly webhookUrl: string | undefined;
  readonly hmacHash: string | undefined;
}

/** @returns the offer, or undefined where a part is missing or malformed */
export function readOffer({ code, webhookUrl, hmacHash }: OfferParts): BindOffer | undefined {
  const readCode = bindCodeSchema.safeParse(code);
  const readHash = hmacHashSchema.safeParse(hmacHash);
  const address = parseWebhookUrl(webhookUrl ?? '');
  if (!readCode.success || !readHash.success || !address.ok) return undefined;
  return { code: readCode.data, webhookUrl: address.url, hmacHash: readHash.data };
}

/**
 * The `webhook_url` of a link: base64url, or plain base64 with or without padding, in which `+` may have become a
 * space on its way through a query (protocol.md 5.1).
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

/** First 16 hex digits of the hash, in fours: what the owner compares with the webhook's page. */
export function fingerprintOf(hmacHash: string): string {
  return hmacHash.slice(0, 16).replaceAll(/(.{4})(?=.)/g, '$1 ');
}
