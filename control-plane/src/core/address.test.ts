import { expect, test } from 'vitest';
import { addressKey } from './address.ts';

test('addressKey distinguishes IPv4 addresses', () => {
  expect(addressKey('192.0.2.1')).not.toBe(addressKey('192.0.2.2'));
});

test('addressKey is one key for a /64 of IPv6', () => {
  const one = addressKey('2001:db8:0:1::1');
  expect(addressKey('2001:db8:0:1:ffff:ffff:ffff:ffff')).toBe(one);
  expect(addressKey('2001:db8:0:2::1')).not.toBe(one);
});

test('addressKey maps an IPv4-mapped address to the IPv4 address', () => {
  expect(addressKey('::ffff:192.0.2.1')).toBe(addressKey('192.0.2.1'));
});

test('addressKey is one key for all unknown addresses', () => {
  expect(addressKey(undefined)).toBe(addressKey('fe80::1%eth0'));
});
