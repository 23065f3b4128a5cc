import { parseAddress } from '@svault/shared/egress';

/** Callers without a known address share one counter: to hide the address does not evade the limits. */
const UNKNOWN = 'unknown';

/**
 * The key of limits per address: an IPv4 address, or the /64 of an IPv6 address, which one subscriber has (RFC 6177).
 *
 * @param address in canonical notation
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
 * The group of quotas per network: one party usually has a /24 of IPv4 or a /48 of IPv6 addresses (RFC 6177).
 *
 * @param address in canonical notation
 */
export function addressGroup(address: string | undefined): string {
  const parsed = address === undefined ? undefined : parseAddress(address);
  if (parsed === undefined) return addressKey(undefined);
  const bytes = Buffer.from(parsed.toByteArray());
  if (parsed.kind() === 'ipv4') return `${bytes.subarray(0, 3).join('.')}.0/24`;
  return `${bytes.subarray(0, 6).toString('hex')}/48`;
}
