import { type Address, type Cidr, canonicalAddress, parseCidr } from '@svault/shared/egress';
import ipaddr from 'ipaddr.js';
import * as z from 'zod';
import type { IpAllowlistSettings } from '../core/policy.ts';

/**
 * Whether an address lies in one of the networks. IPv4-mapped IPv6 addresses and networks count as the IPv4 ones. An unknown
 * address lies in none.
 *
 * @throws RangeError for a text that is not a network
 */
export function compileIpAllowlist({
  cidrs,
}: IpAllowlistSettings): (address: Address | undefined) => boolean {
  const ranges = disjoint(
    cidrs.map((text) => {
      const network = parseCidr(text);
      if (network === undefined) throw new RangeError('A stored rule has an invalid network');
      return rangeOf(network);
    }),
  );
  // By bisection: as many networks as an owner may list must not slow down the other callers of this process.
  return (address) => {
    if (address === undefined) return false;
    const key = keyOf(address.kind(), address.toByteArray());
    const range = ranges[countUpTo(ranges, key) - 1];
    return range !== undefined && key <= range.last;
  };
}

/** First and last address, as texts that sort like the addresses. */
interface Range {
  readonly first: string;
  readonly last: string;
}

/** Drops ranges within another one and sorts the rest: two networks are disjoint, or one contains the other. */
function disjoint(ranges: readonly Range[]): readonly Range[] {
  const outermost: Range[] = [];
  for (const range of ranges.toSorted(outerFirst)) {
    const before = outermost.at(-1);
    if (before === undefined || before.last < range.first) outermost.push(range);
  }
  return outermost;
}

const outerFirst = (a: Range, b: Range): number => order(a.first, b.first) || order(b.last, a.last);
const order = (a: string, b: string): number => Number(a > b) - Number(a < b);

/** The number of ranges that begin at or before an address. */
function countUpTo(ranges: readonly Range[], key: string): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle]?.first ?? '') <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function rangeOf([network, bits]: Cidr): Range {
  const kind = network.kind();
  const bytes = network.toByteArray();
  const hostBits = bytes.map((_, at) => 0xff >> Math.min(Math.max(bits - 8 * at, 0), 8));
  return {
    first: keyOf(
      kind,
      bytes.map((byte, at) => byte & ~(hostBits[at] ?? 0)),
    ),
    last: keyOf(
      kind,
      bytes.map((byte, at) => byte | (hostBits[at] ?? 0)),
    ),
  };
}

/** Begins with the kind, so that IPv4 and IPv6 share one order and no range contains both. */
const keyOf = (kind: string, bytes: readonly number[]): string => kind + String.fromCharCode(...bytes);

/**
 * The problem of a network as an owner wrote it; undefined for a correct one. Host bits are rejected instead of cut off: who
 * writes `10.1.2.3/8` means one address, or sixteen million.
 */
export function problemOfCidr(text: string): string | undefined {
  const network = parseCidr(text);
  if (network === undefined) return 'must be a network such as 10.0.0.0/8 or 2001:db8::/32, or an address';
  const [address, bits] = network;
  const first = firstOf(address, bits);
  if (first === address.toString()) return undefined;
  return `has bits set beyond its prefix: the network is ${first}/${bits}, the address alone has no prefix`;
}

/** Whether a text is an IP address. */
export const isAddress = (text: string): boolean => canonicalAddress(text) !== undefined;

/** The first address of a network, in canonical notation. */
function firstOf(address: Address, bits: number): string {
  const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return family.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString();
}

const MAX_CIDRS = 100;
/** Of all lists of a policy together: each costs some microseconds when it is compiled, which everybody waits for. */
export const MAX_CIDRS_OF_POLICY = 200;

const cidrSchema = z
  .string()
  .max(50)
  .superRefine((text, context) => {
    const message = problemOfCidr(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  })
  .meta({ examples: ['10.0.0.0/8'] });

export const ipAllowlistMembers = {
  cidrs: z.array(cidrSchema).min(1, 'must have a network or an address').max(MAX_CIDRS),
};
