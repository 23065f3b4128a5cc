import type { HeaderPairs } from '@svault/shared';

/** What addresses in the answer of an HTTP API are read against, and become. */
export interface ApiAddresses {
  /** The base URL, with or without a slash at its end. */
  readonly upstreamUrl: string;
  /** What followed the base in the request. */
  readonly target: string | undefined;
  /** The public URL of the endpoint for HTTP APIs. */
  readonly proxyUrl: string;
}

/**
 * The fields of an answer that name an address below the base URL, with the address below the proxy's instead (PROTOCOL.md
 * section 5.8): `location`, `content-location`, and of `link` the targets that are, so that clients page through a list.
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

/** @returns why the proxy does not hand on a redirect; undefined for one to an address below the base URL */
export function outsideProblem(
  [location = '', ...others]: readonly string[],
  addresses: ApiAddresses & { readonly redirects?: unknown },
): string | undefined {
  const target = resolve(location, addresses);
  if (others.length > 0 || target === undefined)
    return 'The upstream redirects to a malformed address. Its operator has to fix that.';
  if (proxyAddressOf(location, addresses) !== undefined) return undefined;
  const { origin } = new URL(addresses.upstreamUrl);
  if (target.origin === origin)
    return (
      `The upstream redirects to an address that is not below the base URL of the proxy. ` +
      'The owner of the proxy sets upstreamUrl to a base that both addresses share.'
    );
  const following =
    addresses.redirects === undefined
      ? 'The owner of the proxy can have the webhook follow it without the credential: svault proxies edit PROXY --follow-redirects'
      : 'The webhook follows redirects of GET and HEAD alone.';
  return `The upstream redirects to another origin, ${target.protocol}//${target.host}, and clients would take the proxy key along. ${following}`;
}

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

const withoutSlash = (text: string): string => (text.endsWith('/') ? text.slice(0, -1) : text);

/** RFC 8288 section 3: one link with its parameters, and the comma behind it. */
const LINK =
  /[\t ]*<([^<>"\s]*)>((?:[\t ]*;[\t ]*[^\t =;,"<>]+(?:[\t ]*=[\t ]*(?:"(?:[^"\\]|\\.)*"|[^\t ;,"<>]+))?)*)[\t ]*(?:,|$)/y;
/** The link is one of another address than the answer's. */
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
