import type { HeaderPairs } from '@svault/shared';

/** How addresses in a response of an HTTP API are resolved and rewritten. */
export interface ApiAddresses {
  /** The base URL, with or without a slash at its end. */
  readonly upstreamUrl: string;
  /** The path and query of the request below the base URL. */
  readonly target: string | undefined;
  /** The public URL of the endpoint for HTTP APIs. */
  readonly proxyUrl: string;
}

/**
 * Selects the fields of a response that name addresses below the base URL, and rewrites those to addresses below the proxy's
 * (PROTOCOL.md section 5.8): `location`, `content-location`, and the targets of `link`, by which clients page through a list.
 */
export function withProxyAddresses(fields: HeaderPairs, addresses: ApiAddresses): HeaderPairs {
  const ofField = (name: string, value: string): string | undefined => {
    if (name === 'location' || name === 'content-location') return proxyAddressOf(value, addresses);
    return name === 'link' ? linksBelow(value, addresses) : undefined;
  };
  return fields.flatMap(([name, value]) => {
    const rewritten = ofField(name, value);
    return rewritten === undefined ? [] : [[name, rewritten] as const];
  });
}

/** @returns why the proxy does not forward a redirect; undefined for one to an address below the base URL */
export function outsideProblem(
  [location = '', ...others]: readonly string[],
  addresses: ApiAddresses & { readonly redirects?: unknown },
): string | undefined {
  const target = resolve(location, addresses);
  if (others.length > 0 || target === undefined) return MALFORMED_REDIRECT;
  if (proxyAddressOf(location, addresses) !== undefined) return undefined;
  const { origin } = new URL(addresses.upstreamUrl);
  if (target.origin === origin)
    return (
      'The upstream redirects to an address that is not below the base URL of the proxy. ' +
      'The owner of the proxy sets upstreamUrl to a base that both addresses share.'
    );
  const following =
    addresses.redirects === undefined
      ? 'The owner of the proxy can have the webhook follow it without the credential: svault proxies edit PROXY --follow-redirects'
      : 'The webhook follows redirects of GET and HEAD alone.';
  return `The upstream redirects to another origin, ${originOf(target)}, and clients would take the proxy key along. ${following}`;
}

export const MALFORMED_REDIRECT =
  'The upstream redirects to a malformed address. Its operator has to fix that.';

/** Without user name, path and query; the `origin` of schemes other than http is `null`. */
export const originOf = ({ protocol, host }: URL): string => `${protocol}//${host}`;

/** @returns undefined where the address is malformed, has a user name, or is not below the base URL */
function proxyAddressOf(address: string, addresses: ApiAddresses): string | undefined {
  const found = resolve(address, addresses);
  if (found === undefined || found.username !== '' || found.password !== '') return undefined;
  const base = new URL(addresses.upstreamUrl);
  const path = withoutSlash(base.pathname);
  const rest = found.pathname.slice(path.length);
  const isBelow = found.pathname.startsWith(path) && (rest === '' || rest.startsWith('/'));
  if (found.origin !== base.origin || !isBelow) return undefined;
  return addresses.proxyUrl + rest + found.search + found.hash;
}

function resolve(address: string, { upstreamUrl, target = '' }: ApiAddresses): URL | undefined {
  const called = withoutSlash(upstreamUrl) + target;
  return URL.canParse(address, called) ? new URL(address, called) : undefined;
}

export const withoutSlash = (text: string): string => (text.endsWith('/') ? text.slice(0, -1) : text);

/** RFC 8288 section 3: one link with its parameters, and the comma behind it. */
const LINK =
  /[\t ]*<([^<>"\s]*)>((?:[\t ]*;[\t ]*[^\t =;,"<>]+(?:[\t ]*=[\t ]*(?:"(?:[^"\\]|\\.)*"|[^\t ;,"<>]+))?)*)[\t ]*(?:,|$)/y;
/** The link starts at another address than the response's (RFC 8288 section 3.2). */
const ANCHOR = /;[\t ]*anchor\b/i;

/** @returns undefined where no link is left, or where the value is malformed */
function linksBelow(value: string, addresses: ApiAddresses): string | undefined {
  const links: string[] = [];
  LINK.lastIndex = 0;
  while (LINK.lastIndex < value.length) {
    const [, target = '', parameters = ''] = LINK.exec(value) ?? [];
    if (LINK.lastIndex === 0) return undefined;
    const address = ANCHOR.test(parameters) ? undefined : proxyAddressOf(target, addresses);
    if (address !== undefined) links.push(`<${address}>${parameters}`);
  }
  return links.length === 0 ? undefined : links.join(', ');
}
