const LABELS = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
const BRACKETED = /^\[[0-9a-f:.]+\]$/;
const ENTRY = /^(?:http:\/\/)?(.+?)(?::([1-9][0-9]{0,4}))?$/;
const MAX_PORT = 65535;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };
const ANY = '*';

/** Where a call goes. */
type Origin = Pick<URL, 'protocol' | 'hostname' | 'port'>;

/**
 * Whether a text is an entry of `allowedHosts` (protocol SAV-11, SAV-12): `host`, `host:port`, the same behind
 * `http://`, or `*`. Hosts are lower-case A-labels without trailing dot, or addresses in their one spelling, IPv6 in
 * brackets.
 */
export function isAllowedHost(entry: string): boolean {
  if (entry === ANY) return true;
  const [, hostname = '', port = ''] = ENTRY.exec(entry) ?? [];
  if (Number(port) > MAX_PORT) return false;
  if (!LABELS.test(hostname) && !BRACKETED.test(hostname)) return false;
  // The URL parser decides about punycode and numbers: `127.1` and `0x7f000001` are not spelt as it spells them.
  return URL.canParse(`https://${hostname}`) && new URL(`https://${hostname}`).host === hostname;
}

/**
 * Whether the owner allowed a URL's destination (protocol SAV-13, SAV-14, SAV-34, SAV-35): scheme, host and port all
 * decide, and only an entry that says so means plain http.
 * @param allowedHosts entries as stored; an invalid entry allows nothing
 */
export function isAllowedDestination(url: Origin, allowedHosts: readonly string[]): boolean {
  if (url.protocol === 'https:' && allowedHosts.includes(ANY)) return true;
  return spellingsOf(url).some((spelling) => allowedHosts.includes(spelling) && isAllowedHost(spelling));
}

/** What an entry for this URL can look like, since an entry spells its host as the URL parser does. */
export function spellingsOf(url: Origin): readonly string[] {
  const entry = allowedHostFor(url);
  return url.port === '' ? [entry, `${entry}:${DEFAULT_PORTS[url.protocol]}`] : [entry];
}

/** The shortest entry of `allowedHosts` that lets a credential go to this URL. */
export function allowedHostFor({ protocol, hostname, port }: Origin): string {
  const host = port === '' ? hostname : `${hostname}:${port}`;
  return protocol === 'https:' ? host : `${protocol}//${host}`;
}
