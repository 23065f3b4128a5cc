import { parseAddress } from '@svault/shared/egress';

/** Who cannot be told apart shares one counter: a caller that hides its address must not escape the limits by it. */
const UNKNOWN = 'unknown';

/**
 * By what a limit per address counts: an IPv4 address, or the /64 of an IPv6 address, since one subscriber has all of it
 * (contract.md, "REST").
 *
 * @param address in its one notation
 */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return UNKNOWN;
  if (!address.includes(':')) return address;
  const parsed = parseAddress(address);
  if (parsed === undefined) return UNKNOWN;
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const network = parsed.toByteArray().slice(0, 8);
  return `${Buffer.from(network).toString('hex')}/64`;
}

/**
 * The neighbours that an address has what it holds in common with: one party usually has a /24 of IPv4 or a /48 of IPv6
 * addresses at its disposal (RFC 6177), many more than the one that limits count by.
 *
 * @param address in its one notation
 */
export function addressGroup(address: string | undefined): string {
  const parsed = address === undefined ? undefined : parseAddress(address);
  if (parsed === undefined) return addressKey(undefined);
  const bytes = Buffer.from(parsed.toByteArray());
  if (parsed.kind() === 'ipv4') return `${bytes.subarray(0, 3).join('.')}.0/24`;
  return `${bytes.subarray(0, 6).toString('hex')}/48`;
}
