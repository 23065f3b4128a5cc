import { fromBase64url, parseWebhookUrl } from '@svault/shared';
import { bindCodeSchema, hmacHashSchema } from '@svault/shared/schemas';
import { usage } from '../failure.ts';

/** What a registration link carries from a webhook to the service (protocol 5.1). */
export interface Registration {
  /** Of the service that it is for, without a trailing slash. */
  readonly serviceUrl: string;
  readonly code: string;
  readonly webhookUrl: string;
  readonly hmacHash: string;
}

const LINK = /https?:\/\/[^\s<>"']+\/vault\/webhook-bind\?[^\s<>"']+/g;
const FINGERPRINT = /^Fingerprint\s+((?:[0-9a-f]{4} ){3}[0-9a-f]{4})\s*$/m;
const FINGERPRINT_DIGITS = 16;
const MAX_CHARACTERS = 64 * 1_024;

/**
 * Reads what `bind-link` printed: all of it, or its link alone.
 * @throws Failure usage; the text, whose code is a secret, is not in it
 */
export function readRegistration(text: string): Registration {
  if (text.length > MAX_CHARACTERS) throw usage('that is more than bind-link prints');
  const links = new Set(text.match(LINK));
  if (links.size > 1) throw usage('there is more than one registration link: which is it?');
  const [link] = links;
  if (link === undefined)
    throw usage(
      'there is no registration link; bind-link of the webhook prints one: https://…/vault/webhook-bind?…',
    );
  const url = URL.parse(link);
  const query = url?.searchParams;
  const code = bindCodeSchema.safeParse(query?.get('code'));
  const hmacHash = hmacHashSchema.safeParse(query?.get('hmac_hash'));
  const address = parseWebhookUrl(decodeAddress(query?.get('webhook_url') ?? ''));
  if (url === null || !code.success || !hmacHash.success || !address.ok)
    throw usage('the registration link is not whole; take all of it, or let bind-link make another one');
  const shown = FINGERPRINT.exec(text)?.[1];
  if (shown !== undefined && shown !== fingerprintOf(hmacHash.data))
    throw usage('the fingerprint is of another link: nothing is bound; let bind-link make a new one');
  return {
    serviceUrl: `${url.origin}${url.pathname}`.replace(/\/vault\/webhook-bind$/, ''),
    code: code.data,
    webhookUrl: address.url,
    hmacHash: hmacHash.data,
  };
}

/** First 16 digits in fours, as the webhook and the service show it. */
export const fingerprintOf = (hmacHash: string): string =>
  (hmacHash.slice(0, FINGERPRINT_DIGITS).match(/.{4}/g) ?? []).join(' ');

/** Protocol 5.1: base64url, or plain base64 in which a `+` may have become a space. */
function decodeAddress(encoded: string): string {
  const plain = encoded.replaceAll(' ', '+').replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_');
  const bytes = fromBase64url(plain);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return '';
  }
}
