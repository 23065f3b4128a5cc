/** An HTTP proxy of the control plane that the command may use. */
export interface UsableProxy {
  readonly name: string;
  /** The base URL of the API. */
  readonly upstreamUrl: string;
  /** The proxy's public address; answers name it in `location` and `link`. */
  readonly address: string;
  readonly serviceName?: string | undefined;
  readonly key: string;
}

/** The part of a host that a proxy covers. */
export interface Route extends UsableProxy {
  /** The base without its trailing slash. */
  readonly base: string;
  /** The path of the base; '' for the whole host. */
  readonly path: string;
}

/** A host and port that at least one proxy covers. */
export interface CoveredHost {
  readonly scheme: 'http' | 'https';
  /** Without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** The longest path first. */
  readonly routes: readonly [Route, ...Route[]];
}

/** The target of a CONNECT (RFC 9110 section 9.3.6); IPv6 addresses without brackets. */
export interface Authority {
  readonly hostname: string;
  readonly port: number;
}

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

export const authorityText = ({ hostname, port }: Authority): string =>
  `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;

/**
 * Parses the host and port of a CONNECT, or those of a URL; the host is normalized as in URLs.
 * @param scheme of the URL, whose port is optional
 * @returns undefined for anything else
 */
export function authorityFrom(text: string, scheme?: CoveredHost['scheme']): Authority | undefined {
  if (!/^[^\s/?#@\\]+$/.test(text) || (scheme === undefined && !/:\d+$/.test(text))) return undefined;
  const url = URL.parse(`${scheme ?? 'http'}://${text}`);
  return url === null ? undefined : authorityOf(url);
}

/** @param url http: or https: */
export const authorityOf = (url: URL): Authority => ({
  hostname: url.hostname.replaceAll(/^\[|\]$/g, ''),
  port: url.port === '' ? DEFAULT_PORTS[schemeOf(url)] : Number(url.port),
});

export const schemeOf = ({ protocol }: URL): CoveredHost['scheme'] =>
  protocol === 'https:' ? 'https' : 'http';

/** The hosts that these proxies cover, by `authorityText`. @param proxies no two with the same base */
export function coveredHosts(proxies: readonly UsableProxy[]): ReadonlyMap<string, CoveredHost> {
  const hosts = new Map<string, CoveredHost>();
  for (const proxy of proxies) {
    const url = new URL(proxy.upstreamUrl);
    const authority = authorityOf(url);
    const path = url.pathname.replace(/\/+$/, '');
    const route = { ...proxy, base: url.origin + path, path };
    const name = authorityText(authority);
    const { routes = [] } = hosts.get(name) ?? {};
    const [longest = route, ...others] = [...routes, route].toSorted(
      (one, other) => other.path.length - one.path.length,
    );
    hosts.set(name, { scheme: schemeOf(url), ...authority, routes: [longest, ...others] });
  }
  return hosts;
}

/** The route whose path contains a request target. @param target path and query, as sent */
export const routeOf = ({ routes }: CoveredHost, target: string): Route | undefined =>
  routes.find(({ path }) => target.startsWith(path) && /^(?:$|[/?])/.test(target.slice(path.length)));
