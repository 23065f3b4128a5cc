import { type Cidr, isWithin, parseCidr, parseAddress } from './address.ts';

/** The addresses and hosts of the operator's `SV_EGRESS_ALLOW` (PROTOCOL.md section 6). */
export interface AllowList {
  /** @param host as in a URL: lower case, IPv6 without brackets */
  namesHost(host: string): boolean;
  namesAddress(ip: string): boolean;
}

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** Reads ranges (`10.1.0.0/16`, `fd00::/8`), addresses and host names. @throws RangeError that names any other entry */
export function parseAllowList(entries: readonly string[]): AllowList {
  const hosts = new Set<string>();
  const ranges: Cidr[] = [];
  for (const entry of entries) {
    const range = parseCidr(entry);
    if (range !== undefined) ranges.push(range);
    else if (isHostName(entry.toLowerCase())) hosts.add(entry.toLowerCase());
    else
      throw new RangeError(`neither a CIDR range nor an address nor a host name: ${JSON.stringify(entry)}`);
  }
  const namesAddress = (ip: string): boolean => {
    const address = parseAddress(ip);
    return address !== undefined && ranges.some((range) => isWithin(address, range));
  };
  return { namesHost: (host) => hosts.has(host) || namesAddress(host), namesAddress };
}

/** Whether a text in lower case is a host name of a URL; one whose last label is a number would be an address there. */
export function isHostName(text: string): boolean {
  return HOST.test(text) && URL.canParse(`http://${text}`) && new URL(`http://${text}`).hostname === text;
}
