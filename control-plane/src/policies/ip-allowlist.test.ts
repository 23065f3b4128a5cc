import { parseAddress } from '@svault/shared/egress';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileIpAllowlist, problemOfCidr } from './ip-allowlist.ts';

const allows = (cidrs: readonly string[], address: string): boolean => {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new Error(`${address} is no address`);
  return compileIpAllowlist({ cidrs })(parsed);
};

describe('addresses and networks', () => {
  it.each([
    [['192.0.2.0/24'], '192.0.2.255', true],
    [['192.0.2.0/24'], '192.0.3.0', false],
    [['198.51.100.7'], '198.51.100.7', true],
    [['198.51.100.7'], '198.51.100.8', false],
    [['203.0.113.0/24', '192.0.2.1'], '192.0.2.1', true],
    [['0.0.0.0/0'], '255.255.255.255', true],
    [['2001:db8::/32'], '2001:db8:ffff::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['::/0'], '2001:db8::1', true],
  ])('%j and %s: %s', (cidrs, address, expected) => {
    expect(allows(cidrs, address)).toBe(expected);
  });

  it('takes IPv4-mapped addresses and networks for the IPv4 ones they stand for', () => {
    expect(allows(['192.0.2.0/24'], '::ffff:192.0.2.9')).toBe(true);
    expect(allows(['::ffff:192.0.2.0/120'], '192.0.2.9')).toBe(true);
    expect(allows(['::ffff:c000:200/120'], '::ffff:192.0.2.9')).toBe(true);
    expect(allows(['::ffff:192.0.2.0/120'], '192.0.3.9')).toBe(false);
  });

  it('has no network that holds both kinds', () => {
    expect(allows(['0.0.0.0/0'], '2001:db8::1')).toBe(false);
    expect(allows(['::/0'], '192.0.2.1')).toBe(false);
    expect(allows(['::/0'], '::ffff:192.0.2.1')).toBe(false);
  });

  it('denies an address that is not known, whatever is on the list', () => {
    expect(compileIpAllowlist({ cidrs: ['0.0.0.0/0', '::/0'] })(undefined)).toBe(false);
  });
});

describe('against a slow and obvious model', () => {
  const octet = fc.integer({ min: 0, max: 255 });
  const bytes = (length: number): fc.Arbitrary<number[]> =>
    fc.array(octet, { minLength: length, maxLength: length });
  const bits = (address: readonly number[]): string =>
    address.map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const text = (address: readonly number[]): string =>
    address.length === 4
      ? address.join('.')
      : Array.from({ length: 8 }, (_, at) =>
          (((address[2 * at] ?? 0) << 8) | (address[2 * at + 1] ?? 0)).toString(16),
        ).join(':');

  it.each([4, 16])('compares the first bits of %i bytes', (length) => {
    // The address takes its first bits from the network, so that many of them lie in it, or just beside it.
    const drawn = fc.tuple(bytes(length), bytes(length), fc.nat(length * 8), fc.nat(length * 8));
    fc.assert(
      fc.property(drawn, ([network, other, prefix, shared]) => {
        const mixed = bits(network).slice(0, shared) + bits(other).slice(shared);
        const address = Array.from({ length }, (_, at) => parseInt(mixed.slice(at * 8, at * 8 + 8), 2));
        // Both kinds at once: `::ffff:0:0/96` stands for IPv4.
        fc.pre(![network, address].some((each) => text(each).startsWith('0:0:0:0:0:ffff:')));
        const expected = bits(address).slice(0, prefix) === bits(network).slice(0, prefix);
        expect(allows([`${text(network)}/${prefix}`], text(address))).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('knows the one form of a network: without bits beyond its prefix', () => {
    fc.assert(
      fc.property(bytes(4), fc.nat(32), (network, prefix) => {
        const proper = !bits(network).slice(prefix).includes('1');
        expect(problemOfCidr(`${text(network)}/${prefix}`) === undefined).toBe(proper);
      }),
    );
  });
});

describe('what an owner may write', () => {
  it.each(['10.0.0.0/8', '192.0.2.1', '192.0.2.1/32', '::1', '2001:db8::/32', '::/0', '::ffff:10.0.0.0/104'])(
    '%s',
    (text) => {
      expect(problemOfCidr(text)).toBeUndefined();
    },
  );

  it.each([
    '',
    '10.0.0.0/33',
    '10.0.0/8',
    '010.0.0.0/8',
    '10.0.0.0/08',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '127.1',
    '0x7f000001',
    'fe80::1%eth0',
    '::1/129',
    'localhost',
    ' 10.0.0.0/8',
  ])('not %j', (text) => {
    expect(problemOfCidr(text)).toMatch(/^must be/);
  });

  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
  ])('not %s, and names the network', (text, network) => {
    expect(problemOfCidr(text)).toContain(`the network is ${network},`);
  });
});
