import { expect, test } from 'vitest';
import { canonicalAddress, isWithin, parseAddress, parseCidr } from './address.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['2001:db8:0:1:0:0:0:1', '2001:db8:0:1::1'],
  ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
  ['::1', '::1'],
])('the canonical form of %s is %s', (text, canonical) => {
  expect(canonicalAddress(text)).toBe(canonical);
});

test('a deprecated IPv4-compatible address is not treated as the IPv4 address in it', () => {
  expect(canonicalAddress('::192.0.2.1')).toBe('::c000:201');
});

test.each(['', '127.1', '010.0.0.1', '0x7f.1', '2130706433', 'fe80::1%eth0', '[::1]', '1.2.3.4:80', 'host'])(
  '%j is no address',
  (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
    expect(parseAddress(text)).toBeUndefined();
  },
);

const lies = (address: string, range: string): boolean => {
  const [parsed, cidr] = [parseAddress(address), parseCidr(range)];
  if (parsed === undefined || cidr === undefined) throw new Error('the test names something that is none');
  return isWithin(parsed, cidr);
};

test.each([
  ['10.1.2.3', '10.0.0.0/8', true],
  ['11.1.2.3', '10.0.0.0/8', false],
  ['10.1.2.3', '10.9.9.9/8', true],
  ['10.1.2.3', '10.1.2.3', true],
  ['10.1.2.4', '10.1.2.3', false],
  ['::ffff:10.1.2.3', '10.0.0.0/8', true],
  ['10.1.2.3', '::ffff:10.0.0.0/104', true],
  ['10.1.2.3', '::ffff:10.0.0.0', false],
  ['::10.1.2.3', '10.0.0.0/8', false],
  ['10.1.2.3', '::/0', false],
  ['2001:db8::1', '0.0.0.0/0', false],
  ['2001:db8::1', '2001:db8::/32', true],
])('%s in %s: %s', (address, range, expected) => {
  expect(lies(address, range)).toBe(expected);
});

test.each([
  '',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/',
  '10.0.0.0/08',
  '10/8',
  '::/129',
  '::ffff:10.0.0.0/95',
  'host/8',
])('%j is not a range', (text) => {
  expect(parseCidr(text)).toBeUndefined();
});
