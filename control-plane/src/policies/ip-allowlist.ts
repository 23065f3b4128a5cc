import ipaddr from 'ipaddr.js';
import { type Address, parseCidr } from '@svault/shared/egress';
import { createAddressSet } from './address-set.ts';
import type { IpAllowlistSettings } from '../core/policy.ts';

/**
 * Whether an address lies in one of the networks. IPv4-mapped IPv6 addresses and networks are the IPv4 ones that they stand
 * for. An address that is not known lies in none.
 *
 * @throws RangeError for a text that is no network
 */
export function compileIpAllowlist({
  cidrs,
}: IpAllowlistSettings): (address: Address | undefined) => boolean {
  const networks = cidrs.map((text) => {
    const network = parseCidr(text);
    if (network === undefined) throw new RangeError('a rule holds a network that is none');
    return network;
  });
  const isListed = createAddressSet(networks);
  return (address) => address !== undefined && isListed(address);
}

/**
 * What is wrong with a network as an owner wrote it; undefined where nothing is. Bits of a host are refused and not cut off:
 * who writes `10.1.2.3/8` has one address in mind, or sixteen million.
 */
export function problemOfCidr(text: string): string | undefined {
  const network = parseCidr(text);
  if (network === undefined) return 'must be a network such as 10.0.0.0/8 or 2001:db8::/32, or an address';
  const [address, bits] = network;
  const first = firstOf(address, bits);
  if (first === address.toString()) return undefined;
  return `has bits set beyond its prefix: the network is ${first}/${bits}, the address alone has no prefix`;
}

/** The first address of a network, in its one notation. */
function firstOf(address: Address, bits: number): string {
  const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return family.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString();
}
