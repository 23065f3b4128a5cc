/** An HTTP proxy at the control plane that the command's requests may go through. */
export interface UsableProxy {
  readonly name: string;
  /** The base URL of the API. */
  readonly upstreamUrl: string;
  /** The proxy's public address; answers name it in `location` and `link`. */
  readonly address: string;
  readonly serviceName?: string | undefined;
  readonly key: string;
}

/** What a proxy covers of a host. */
export interface Route extends UsableProxy {
  /** The base without its trailing slash. */
  readonly base: string;
  /** Its path; '' for the whole host. */
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

/** `name:port`, as CONNECT has it; IPv6 without brackets. */
export interface Authority {
  readonly hostname: string;
  readonly port: number;
}

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

export const authorityText = ({ hostname, port }: Authority): string =>
  `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`;

/**
 * The host and port of a CONNECT, in the form that URLs have.
 * @param scheme of an address, whose port may be missing
 * @returns undefined where it is neither
 */
export function authorityFrom(text: string, scheme?: CoveredHost['scheme']): Authority | undefined {
  if (!/^[^\s/?#@\\]+$/.test(text) || (scheme === undefined && !/:\d+$/.test(text))) return undefined;
  const url = URL.parse(`${scheme ?? 'http'}://${text}`);
  return url === null ? undefined : authorityOf(url, DEFAULT_PORTS[scheme ?? 'http']);
}

const authorityOf = ({ hostname, port }: URL, defaultPort: number): Authority => ({
  hostname: hostname.replaceAll(/^\[|\]$/g, ''),
  port: port === '' ? defaultPort : Number(port),
});

/** The hosts that these proxies cover, by `authorityText`. Two of them never have the same base. */
export function coveredHosts(proxies: readonly UsableProxy[]): ReadonlyMap<string, CoveredHost> {
  const hosts = new Map<string, CoveredHost>();
  for (const proxy of proxies) {
    const url = new URL(proxy.upstreamUrl);
    const scheme = url.protocol === 'https:' ? 'https' : 'http';
    const authority = authorityOf(url, DEFAULT_PORTS[scheme]);
    const path = url.pathname.replace(/\/+$/, '');
    const route = { ...proxy, base: url.origin + path, path };
    const name = authorityText(authority);
    const { routes = [] } = hosts.get(name) ?? {};
    const [longest = route, ...others] = [...routes, route].toSorted(
      (one, other) => other.path.length - one.path.length,
    );
    hosts.set(name, { scheme, ...authority, routes: [longest, ...others] });
  }
  return hosts;
}

/** The proxy that a request target is below of. @param target path and query, as they were sent */
export const routeOf = ({ routes }: CoveredHost, target: string): Route | undefined =>
  routes.find(({ path }) => target.startsWith(path) && /^(?:$|[/?])/.test(target.slice(path.length)));
