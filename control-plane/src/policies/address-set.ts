import type { Address, Cidr } from '@svault/shared/egress';
import { compareByCodeUnit } from './code-unit-order.ts';

/** First and last address, each as a text whose order is the addresses' own. */
interface Range {
  readonly first: string;
  readonly last: string;
}

/**
 * The addresses of some networks, asked by halving: as many networks as an owner may write must not slow down whoever else
 * asks this process.
 *
 * @returns whether an address is in one of them; IPv4 and IPv6 have none in common
 */
export function createAddressSet(networks: readonly Cidr[]): (address: Address) => boolean {
  const ranges = apart(networks.map(rangeOf));
  return (address) => {
    const key = keyOf(address.kind(), address.toByteArray());
    const range = ranges[countUpTo(ranges, key) - 1];
    return range !== undefined && key <= range.last;
  };
}

/** Without those within another one: two networks have nothing in common, or one holds the other. */
function apart(ranges: readonly Range[]): readonly Range[] {
  const outermost: Range[] = [];
  for (const range of ranges.toSorted(outerFirst)) {
    const before = outermost.at(-1);
    if (before === undefined || before.last < range.first) outermost.push(range);
  }
  return outermost;
}

const outerFirst = (a: Range, b: Range): number =>
  compareByCodeUnit(a.first, b.first) || compareByCodeUnit(b.last, a.last);

/** How many ranges begin at or before an address. */
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

/** The kind before the bytes: both kinds stand in one order, and no range reaches from one into the other. */
const keyOf = (kind: string, bytes: readonly number[]): string => kind + String.fromCharCode(...bytes);
