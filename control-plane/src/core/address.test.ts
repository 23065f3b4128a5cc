import { expect, test } from 'vitest';
import { addressKey } from './address.ts';

test('an IPv4 address counts for itself', () => {
  expect(addressKey('192.0.2.1')).not.toBe(addressKey('192.0.2.2'));
});

test('all of a /64 counts as one', () => {
  const one = addressKey('2001:db8:0:1::1');
  expect(addressKey('2001:db8:0:1:ffff:ffff:ffff:ffff')).toBe(one);
  expect(addressKey('2001:db8:0:2::1')).not.toBe(one);
});

test('an IPv4-mapped address counts as the IPv4 address', () => {
  expect(addressKey('::ffff:192.0.2.1')).toBe(addressKey('192.0.2.1'));
});

test('who hides the address shares one counter with all who do', () => {
  expect(addressKey(undefined)).toBe(addressKey('fe80::1%eth0'));
});
