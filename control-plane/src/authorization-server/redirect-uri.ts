import { isLoopbackUri, withoutPort } from '../sign-in/loopback-uri.ts';

/** More characters than any client's has; a table of clients must not grow by what is no address any more. */
const MAX_CHARACTERS = 1_000;

/** The characters of a URI (RFC 3986 section 2) but for `#`: no space, no control character, no backslash, no letter beyond ASCII. */
const URI_CHARACTERS = /^(?:[A-Za-z0-9._~:/?[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$/;
/** A scheme as it is written (RFC 3986 section 3.1), in lower case, with a path behind it: `com.example.app:/cb`, `cursor://cb`. */
const PRIVATE_USE = /^([a-z][a-z0-9+.-]*):\/[^?]/;

/**
 * Schemes that browsers and systems act on themselves; a code sent there reaches no client (RFC 9700 section 4.1). `http` is
 * for this computer alone.
 */
const NOT_PRIVATE_USE = new Set(
  'about blob chrome data file filesystem ftp ftps http intent jar javascript mailto resource sms tel vbscript view-source ws wss'.split(
    ' ',
  ),
);
/** Windows' own handlers, which do what their address says. */
const SYSTEM_HANDLER = /^(ms|search)-|^shell\b/;

/** What kind of address a redirect URI is. */
export type RedirectKind = 'https' | 'loopback' | 'privateUse';

/**
 * Whether a client may be answered there, and how: `https`; `http` on this computer (RFC 8252 section 7.3), `localhost` too,
 * since most clients write it so; a scheme of the client's own (section 7.1).
 *
 * @returns undefined for everything else: a fragment (RFC 6749 section 3.1.2), userinfo, `javascript:`, `http:` to elsewhere, a
 *   text that browsers would read as something else than it says
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

/** Browsers read `https:host`, `https:///host`, `HTTPS://Host`, `https://2130706433` too; whoever compares texts would not. */
function isWrittenAsRead(uri: string, host: string): boolean {
  const rest = uri.slice(`https://${host}`.length);
  return uri.startsWith(`https://${host}`) && (rest === '' || /^[/?]/.test(rest));
}

/**
 * Whether a redirect URI is one that its client registered: the same text (OAuth 2.1 section 2.3.1), but for the port of a
 * loopback address, which the client's system gives it (RFC 8252 section 7.3).
 */
export function isRegisteredRedirect(registered: readonly string[], presented: string): boolean {
  if (registered.includes(presented)) return redirectKindOf(presented) !== undefined;
  if (redirectKindOf(presented) !== 'loopback') return false;
  const wanted = withoutPort(presented);
  return registered.some((uri) => isLoopbackUri(uri) && withoutPort(uri) === wanted);
}

/**
 * A redirect URI with the answer in its query; a query of its own is kept (RFC 6749 section 3.1.2).
 *
 * @param redirectUri without a fragment
 */
export function redirectWith(redirectUri: string, answer: Readonly<Record<string, string>>): string {
  const joint = redirectUri.includes('?') ? (/[?&]$/.test(redirectUri) ? '' : '&') : '?';
  // A space as `%20`: who reads a form takes it for one too, and who reads a URI takes `+` for a plus.
  return redirectUri + joint + new URLSearchParams(answer).toString().replaceAll('+', '%20');
}

/**
 * For a page's content policy: what lets a form's answer redirect there (CSP 3, `form-action`). A policy has no way to name
 * an IPv6 address, so for that one it names the scheme.
 *
 * @param redirectUri one that {@link redirectKindOf} knows
 */
export function formTargetOf(redirectUri: string): string {
  const { protocol, origin, hostname } = new URL(redirectUri);
  if (protocol !== 'https:' && protocol !== 'http:') return protocol;
  return hostname.startsWith('[') ? protocol : origin;
}
