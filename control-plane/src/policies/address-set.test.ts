import { type Cidr, isWithin, parseAddress, parseCidr } from '@svault/shared/egress';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createAddressSet } from './address-set.ts';

const cidr = (text: string): Cidr => {
  const network = parseCidr(text);
  if (network === undefined) throw new Error(`${text} is no network`);
  return network;
};
const holds = (networks: readonly string[], text: string): boolean => {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${text} is no address`);
  return createAddressSet(networks.map(cidr))(address);
};

it('of no networks holds nothing', () => {
  expect(holds([], '0.0.0.0')).toBe(false);
  expect(holds([], '::')).toBe(false);
});

it('holds the first and the last address of each network, and neither neighbour', () => {
  const networks = ['192.0.2.64/26', '2001:db8:0:40::/58', '198.51.100.7'];
  for (const inside of ['192.0.2.64', '192.0.2.127', '2001:db8:0:40::', '2001:db8:0:7f:ffff:ffff:ffff:ffff'])
    expect([inside, holds(networks, inside)]).toEqual([inside, true]);
  for (const outside of [
    '192.0.2.63',
    '192.0.2.128',
    '2001:db8:0:3f:ffff::',
    '2001:db8:0:80::',
    '198.51.100.8',
  ])
    expect([outside, holds(networks, outside)]).toEqual([outside, false]);
});

it('holds what a wide network holds, whatever narrow ones are listed with it', () => {
  const networks = ['10.0.0.0/32', '10.0.0.0/8', '10.255.0.0/16', '10.0.0.0/24', '0.0.0.0/8'];
  for (const order of [networks, networks.toReversed()])
    for (const inside of ['0.1.2.3', '10.0.0.1', '10.200.0.1', '10.255.255.255'])
      expect([inside, holds(order, inside)]).toEqual([inside, true]);
  expect(holds(networks, '11.0.0.0')).toBe(false);
});

it('says of any list what asking its networks one by one says', () => {
  // Few bits vary, so that networks hold one another and addresses lie at their edges.
  const byte = fc.constantFrom(0, 1, 127, 128, 254, 255);
  const four = fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join('.'));
  const six = fc
    .array(byte, { minLength: 8, maxLength: 8 })
    .map((parts) => parts.map((n) => n.toString(16)).join(':'));
  const network = fc.oneof(
    fc.tuple(four, fc.nat(32)).map(([text, bits]) => `${text}/${bits}`),
    fc.tuple(six, fc.nat(128)).map(([text, bits]) => `${text}/${bits}`),
  );
  fc.assert(
    fc.property(fc.array(network, { maxLength: 12 }), fc.oneof(four, six), (networks, text) => {
      const address = parseAddress(text);
      const oneByOne = networks.some((each) => address !== undefined && isWithin(address, cidr(each)));
      expect(holds(networks, text)).toBe(oneByOne);
    }),
    { numRuns: 2_000 },
  );
});
