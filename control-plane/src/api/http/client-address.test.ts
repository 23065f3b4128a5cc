import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { createClientAddress } from './client-address.ts';

const request = (peer: string | undefined, forwardedFor?: string): IncomingMessage =>
  ({
    socket: { remoteAddress: peer },
    headers: forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor },
  }) as unknown as IncomingMessage;

describe('without trusted proxies', () => {
  const address = createClientAddress([]);

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::192.0.2.1', '::c000:201'],
    ['fe80::1%eth0', 'fe80::1'],
    [undefined, undefined],
  ])('the peer %s is the client %s', (peer, expected) => {
    expect(address(request(peer))).toBe(expected);
  });

  test('X-Forwarded-For is ignored', () => {
    expect(address(request('127.0.0.1', '192.0.2.1'))).toBe('127.0.0.1');
  });
});

describe('behind trusted proxies', () => {
  const address = createClientAddress(['10.0.0.0/8', '127.0.0.1', 'fd00::/8']);

  test.each([
    ['an untrusted peer speaks for itself alone', '192.0.2.9', '192.0.2.1', '192.0.2.9'],
    ['a trusted one for its client', '10.0.0.1', '192.0.2.1', '192.0.2.1'],
    ['by its IPv4-mapped address too', '::ffff:10.0.0.1', '192.0.2.1', '192.0.2.1'],
    ['but not by an IPv4-compatible one', '::10.0.0.1', '192.0.2.1', '::a00:1'],
    ['by IPv6', 'fd00::1', '2001:DB8::1', '2001:db8::1'],
    ['the client is unmapped', '10.0.0.1', '::ffff:192.0.2.1', '192.0.2.1'],
    [
      'an entry that a client put before the proxy is ignored',
      '10.0.0.1',
      '127.0.0.1, 192.0.2.1',
      '192.0.2.1',
    ],
    ['further trusted proxies are passed', '10.0.0.1', '6.6.6.6, 192.0.2.1, 10.0.0.3,10.0.0.2', '192.0.2.1'],
    ['a trusted address is the client where it is the first entry', '10.0.0.1', '10.0.0.3', '10.0.0.3'],
    ['a trusted peer without the header speaks for itself', '10.0.0.1', undefined, '10.0.0.1'],
    ['a trusted peer may have a zone', 'fd00::1%eth0', '192.0.2.1', '192.0.2.1'],
    ['no peer, no client', undefined, '192.0.2.1', undefined],
  ])('%s', (_, peer, forwardedFor, expected) => {
    expect(address(request(peer, forwardedFor))).toBe(expected);
  });

  test.each([
    'unknown',
    '_hidden',
    '192.0.2.1:4711',
    '[2001:db8::1]:4711',
    '127.1',
    '010.0.0.1',
    '0x0a000001',
    'fe80::1%eth0',
    '192.0.2.1;10.0.0.1',
    '\t192.0.2.1',
  ])('the client is unknown where a trusted proxy wrote %j, whatever precedes it', (entry) => {
    expect(address(request('10.0.0.1', entry))).toBeUndefined();
    expect(address(request('10.0.0.1', `192.0.2.1, ${entry}`))).toBeUndefined();
    expect(address(request('10.0.0.1', `192.0.2.1, ${entry}, 10.0.0.2`))).toBeUndefined();
  });

  test('a header of 16 KB costs little and ends at the first address that is not trusted', () => {
    const claimed = Array.from({ length: 1_500 }, () => '10.0.0.1').join(',');
    expect(address(request('10.0.0.1', `${claimed},192.0.2.1`))).toBe('192.0.2.1');
  });
});

test('createClientAddress rejects an entry that is no CIDR range', () => {
  expect(() => createClientAddress(['10.0.0.0/8', 'proxy.internal'])).toThrow('proxy.internal');
});
