import { parseAddress } from '@svault/shared/egress';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileIpAllowlist, problemOfCidr } from './ip-allowlist.ts';

const allows = (cidrs: readonly string[], address: string): boolean => {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new Error(`${address} is no address`);
  return compileIpAllowlist({ cidrs })(parsed);
};

describe('an allowlist', () => {
  it('contains nothing where it lists nothing, and everything of its kind where it lists all', () => {
    for (const address of ['0.0.0.0', '::']) expect(allows([], address)).toBe(false);
    expect(allows(['0.0.0.0/0'], '255.255.255.255')).toBe(true);
    expect(allows(['::/0'], '2001:db8::1')).toBe(true);
  });

  it('contains the first and the last address of each network, and neither neighbour', () => {
    const networks = ['192.0.2.64/26', '2001:db8:0:40::/58', '198.51.100.7'];
    for (const inside of [
      '192.0.2.64',
      '192.0.2.127',
      '2001:db8:0:40::',
      '2001:db8:0:7f:ffff:ffff:ffff:ffff',
    ])
      expect([inside, allows(networks, inside)]).toEqual([inside, true]);
    for (const outside of [
      '192.0.2.63',
      '192.0.2.128',
      '2001:db8:0:3f:ffff::',
      '2001:db8:0:80::',
      '198.51.100.8',
    ])
      expect([outside, allows(networks, outside)]).toEqual([outside, false]);
  });

  it('contains a wide network whole, whatever narrow ones are listed with it', () => {
    const networks = ['10.0.0.0/32', '10.0.0.0/8', '10.255.0.0/16', '10.0.0.0/24', '0.0.0.0/8'];
    for (const order of [networks, networks.toReversed()])
      for (const inside of ['0.1.2.3', '10.0.0.1', '10.200.0.1', '10.255.255.255'])
        expect([inside, allows(order, inside)]).toEqual([inside, true]);
    expect(allows(networks, '11.0.0.0')).toBe(false);
  });

  it('treats IPv4-mapped addresses and networks as the IPv4 ones', () => {
    expect(allows(['192.0.2.0/24'], '::ffff:192.0.2.9')).toBe(true);
    expect(allows(['::ffff:192.0.2.0/120'], '192.0.2.9')).toBe(true);
    expect(allows(['::ffff:c000:200/120'], '::ffff:192.0.2.9')).toBe(true);
    expect(allows(['::ffff:192.0.2.0/120'], '192.0.3.9')).toBe(false);
  });

  it('has no network that contains both kinds', () => {
    expect(allows(['0.0.0.0/0'], '2001:db8::1')).toBe(false);
    expect(allows(['::/0'], '192.0.2.1')).toBe(false);
    expect(allows(['::/0'], '::ffff:192.0.2.1')).toBe(false);
  });

  it('denies an unknown address, whatever the list contains', () => {
    expect(compileIpAllowlist({ cidrs: ['0.0.0.0/0', '::/0'] })(undefined)).toBe(false);
  });
});

describe('an allowlist, against a slow and simple model,', () => {
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

  // Few bits vary, so that networks contain one another and addresses lie at their edges.
  const edge = fc.constantFrom(0, 1, 127, 128, 254, 255);
  const edges = (length: number): fc.Arbitrary<number[]> =>
    fc.oneof(bytes(length), fc.array(edge, { minLength: length, maxLength: length }));

  it.each([4, 16])('compares the first bits of %i bytes', (length) => {
    const network = fc.tuple(edges(length), fc.nat(length * 8));
    const drawn = fc.tuple(
      fc.array(network, { minLength: 1, maxLength: 12 }),
      edges(length),
      fc.nat(length * 8),
    );
    fc.assert(
      fc.property(drawn, ([networks, other, shared]) => {
        // The address takes its first bits from a network, so that it often lies in it, or close to it.
        const mixed = bits(networks[0]![0]).slice(0, shared) + bits(other).slice(shared);
        const address = Array.from({ length }, (_, at) => parseInt(mixed.slice(at * 8, at * 8 + 8), 2));
        // `::ffff:0:0/96` counts as IPv4.
        fc.pre(
          ![address, ...networks.map(([each]) => each)].some((each) =>
            text(each).startsWith('0:0:0:0:0:ffff:'),
          ),
        );
        const expected = networks.some(
          ([each, prefix]) => bits(address).slice(0, prefix) === bits(each).slice(0, prefix),
        );
        const cidrs = networks.map(([each, prefix]) => `${text(each)}/${prefix}`);
        expect(allows(cidrs, text(address))).toBe(expected);
      }),
      { numRuns: 1_500 },
    );
  });

  it('accepts a network only without bits beyond its prefix', () => {
    fc.assert(
      fc.property(bytes(4), fc.nat(32), (network, prefix) => {
        const proper = !bits(network).slice(prefix).includes('1');
        expect(problemOfCidr(`${text(network)}/${prefix}`) === undefined).toBe(proper);
      }),
    );
  });
});

describe('a network of a rule', () => {
  it.each(['10.0.0.0/8', '192.0.2.1', '192.0.2.1/32', '::1', '2001:db8::/32', '::/0', '::ffff:10.0.0.0/104'])(
    'may be %s',
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
  ])('may not be %j', (text) => {
    expect(problemOfCidr(text)).toMatch(/^must be/);
  });

  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
  ])('may not be %s, and the message names the network', (text, network) => {
    expect(problemOfCidr(text)).toContain(`the network is ${network},`);
  });
});
