import { isLoopbackUri, withoutPort } from '../sign-in/loopback-redirect.ts';

/** More than any client's; bounds the table of clients. */
const MAX_CHARACTERS = 1_000;

/** The characters of a URI (RFC 3986 section 2) except `#`. */
const URI_CHARACTERS = /^(?:[A-Za-z0-9._~:/?[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$/;
/** A lower-case scheme (RFC 3986 section 3.1) and a path: `com.example.app:/cb`, `cursor://cb`. */
const PRIVATE_USE = /^([a-z][a-z0-9+.-]*):\/[^?]/;

/** Schemes that browsers and systems handle by themselves, so that a code reaches no client (RFC 9700 section 4.1). */
const NOT_PRIVATE_USE = new Set(
  'about blob chrome data file filesystem ftp ftps http intent jar javascript mailto resource sms tel vbscript view-source ws wss'.split(
    ' ',
  ),
);
/** Handlers of Windows, which execute what their address says. */
const SYSTEM_HANDLER = /^(ms|search)-|^shell\b/;

export type RedirectKind = 'https' | 'loopback' | 'privateUse';

/**
 * Classifies a redirect URI: `https`; `http` on this computer (RFC 8252 section 7.3), `localhost` included, since most clients
 * use it; a private-use scheme (section 7.1).
 * @returns undefined for everything else: a fragment (RFC 6749 section 3.1.2), userinfo, `javascript:`, `http:` to another
 *   host, a text that browsers would read as another address
 */
export function redirectKindOf(uri: string): RedirectKind | undefined {
  if (uri.length > MAX_CHARACTERS || !URI_CHARACTERS.test(uri)) return undefined;
  if (isLoopbackUri(uri)) return 'loopback';
  if (!URL.canParse(uri)) return undefined;
  const { username, password, protocol, host } = new URL(uri);
  if (username !== '' || password !== '') return undefined;
  if (protocol === 'https:') return isWrittenAsRead(uri, host) ? 'https' : undefined;
  const scheme = PRIVATE_USE.exec(uri)?.[1];
  if (scheme === undefined || NOT_PRIVATE_USE.has(scheme) || SYSTEM_HANDLER.test(scheme)) return undefined;
  return 'privateUse';
}

/** Browsers also accept `https:host`, `https:///host`, `HTTPS://Host` and `https://2130706433`, which are other texts. */
function isWrittenAsRead(uri: string, host: string): boolean {
  const rest = uri.slice(`https://${host}`.length);
  return uri.startsWith(`https://${host}`) && (rest === '' || /^[/?]/.test(rest));
}

/** Whether the client registered a redirect URI: the same text (OAuth 2.1 section 2.3.1), or a loopback address with another port (RFC 8252 section 7.3). */
export function isRegisteredRedirect(registered: readonly string[], presented: string): boolean {
  if (registered.includes(presented)) return redirectKindOf(presented) !== undefined;
  if (redirectKindOf(presented) !== 'loopback') return false;
  const wanted = withoutPort(presented);
  return registered.some((uri) => isLoopbackUri(uri) && withoutPort(uri) === wanted);
}

/** Adds the response to the query, which is kept, of a redirect URI without fragment (RFC 6749 section 3.1.2). */
export function redirectWith(redirectUri: string, answer: Readonly<Record<string, string>>): string {
  const joint = redirectUri.includes('?') ? (/[?&]$/.test(redirectUri) ? '' : '&') : '?';
  // A space as `%20`, which form and URI parsers read alike; `+` is a plus in a URI.
  return redirectUri + joint + new URLSearchParams(answer).toString().replaceAll('+', '%20');
}

/**
 * The source expression that lets a form's response redirect there (CSP 3, `form-action`). No expression can name an IPv6
 * address, so that one is allowed by its scheme.
 * @param redirectUri one that {@link redirectKindOf} classifies
 */
export function formTargetOf(redirectUri: string): string {
  const { protocol, origin, hostname } = new URL(redirectUri);
  if (protocol !== 'https:' && protocol !== 'http:') return protocol;
  return hostname.startsWith('[') ? protocol : origin;
}
