import ipaddr from 'ipaddr.js';
import { isWithin, parseAddress } from './address.ts';

/** The kind of an address. All but `public` are rejected unless the operator permits them. */
export type AddressVerdict =
  | 'public'
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'link_local'
  | 'unique_local'
  | 'site_local'
  | 'shared'
  | 'multicast'
  | 'reserved'
  | 'benchmarking'
  | 'documentation'
  | 'translated'
  | 'tunnelled'
  | 'not_an_address';

/** PROTOCOL.md section 6. The ranges do not overlap. */
const RANGES: ReadonlyArray<readonly [range: string, verdict: AddressVerdict]> = [
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'shared'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link_local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'documentation'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  // Broadcast, 255.255.255.255, is the last of these.
  ['240.0.0.0/4', 'reserved'],
  // `::`, `::1` and the IPv4-compatible form.
  ['::/96', 'unspecified'],
  // RFC 2765: IPv4-translated.
  ['::ffff:0:0:0/96', 'translated'],
  // RFC 6052 and RFC 8215: NAT64.
  ['64:ff9b::/96', 'translated'],
  ['64:ff9b:1::/48', 'translated'],
  // RFC 6666: discard.
  ['100::/64', 'reserved'],
  // RFC 4380: Teredo. RFC 3056: 6to4. Both carry an IPv4 address.
  ['2001::/32', 'tunnelled'],
  ['2002::/16', 'tunnelled'],
  ['2001:db8::/32', 'documentation'],
  // RFC 9637.
  ['3fff::/20', 'documentation'],
  ['fc00::/7', 'unique_local'],
  ['fe80::/10', 'link_local'],
  // RFC 3879: deprecated, yet some networks route it inside.
  ['fec0::/10', 'site_local'],
  ['ff00::/8', 'multicast'],
];

const PARSED_RANGES = RANGES.map(([range, verdict]) => ({ cidr: ipaddr.parseCIDR(range), verdict }));

/** PROTOCOL.md section 6: the kind of an address in its usual notation, IPv4-mapped forms included. */
export function addressVerdict(ip: string): AddressVerdict {
  const address = parseAddress(ip);
  if (address === undefined) return 'not_an_address';
  return PARSED_RANGES.find(({ cidr }) => isWithin(address, cidr))?.verdict ?? 'public';
}
