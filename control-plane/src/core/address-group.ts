import { parseAddress } from '@svault/shared/egress';
import { addressKey } from './address-key.ts';

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
