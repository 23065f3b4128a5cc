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
