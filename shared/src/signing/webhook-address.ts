/** Why an address cannot be a webhook's. Closed. */
export type WebhookAddressRefusalReason =
  'malformed' | 'scheme' | 'userinfo' | 'query' | 'fragment' | 'trailing_slash' | 'path';

/** A webhook's address, taken apart. */
export interface WebhookAddress {
  readonly ok: true;
  /** The address in its one spelling: scheme and host in lower case, no default port, no trailing slash. */
  readonly url: string;
  /** `@authority`: host in lower case, with its port unless that is the scheme's default. */
  readonly authority: string;
  /** Empty, or `/…` without trailing slash. */
  readonly pathPrefix: string;
}

export interface WebhookAddressRefused {
  readonly ok: false;
  readonly reason: WebhookAddressRefusalReason;
}

const MAX_CHARACTERS = 2048;
const SHAPE = /^(https?):\/\/([^/?#\s\\]+)((?:\/[^?#\s\\]*)?)$/i;
/** Unreserved characters (RFC 3986 section 2.3) and `/`. */
const PATH = /^[A-Za-z0-9._~/-]*$/;

/**
 * PROTOCOL.md section 3: a webhook's address has no userinfo, query, fragment or trailing slash, and its path, if any,
 * is unreserved characters and `/`. Both `https` and `http` are read; whether `http` may be called is the egress's
 * affair.
 */
export function parseWebhookUrl(text: string): WebhookAddress | WebhookAddressRefused {
  if (text.length > MAX_CHARACTERS) return refused('malformed');
  if (text.includes('#')) return refused('fragment');
  if (text.includes('?')) return refused('query');
  if (/^[a-z][a-z0-9+.-]*:/i.test(text) && !/^https?:/i.test(text)) return refused('scheme');
  const [, scheme, host, pathPrefix = ''] = SHAPE.exec(text) ?? [];
  if (scheme === undefined || host === undefined || !URL.canParse(text)) return refused('malformed');
  if (host.includes('@')) return refused('userinfo');
  if (pathPrefix.endsWith('/')) return refused('trailing_slash');
  const url = new URL(text);
  // Dot segments vanish in the parser, so the address that is signed would not be the one that was written.
  if (!PATH.test(pathPrefix) || url.pathname !== (pathPrefix || '/')) return refused('path');
  return { ok: true, url: `${url.protocol}//${url.host}${pathPrefix}`, authority: url.host, pathPrefix };
}

/** `@authority` for a webhook's address. @throws RangeError where {@link parseWebhookUrl} refuses the address */
export function authorityOf(webhookUrl: string): string {
  return addressOf(webhookUrl).authority;
}

/** `@path` of an endpoint such as `/v1/health`: behind the path of the webhook's address. @throws RangeError */
export function signedPath(webhookUrl: string, endpointPath: string): string {
  return addressOf(webhookUrl).pathPrefix + endpointPath;
}

/** `@authority` and `@path` of an endpoint, by one look at the address. @throws RangeError */
export function signedTarget(
  webhookUrl: string,
  endpointPath: string,
): { readonly authority: string; readonly path: string } {
  const { authority, pathPrefix } = addressOf(webhookUrl);
  return { authority, path: pathPrefix + endpointPath };
}

/** Each request to a webhook asks; cleared at this size. */
const MAX_KNOWN = 1_000;
const known = new Map<string, WebhookAddress>();

function addressOf(webhookUrl: string): WebhookAddress {
  const read = known.get(webhookUrl);
  if (read !== undefined) return read;
  const address = parseWebhookUrl(webhookUrl);
  if (!address.ok) throw new RangeError(`not a webhook's address: ${address.reason}`);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(webhookUrl, address);
  return address;
}

function refused(reason: WebhookAddressRefusalReason): WebhookAddressRefused {
  return { ok: false, reason };
}
