import { describe, expect, it } from 'vitest';
import { addressVerdict } from './address-verdict.ts';

/** First and last address of every range of PROTOCOL.md section 6. */
const REFUSED: ReadonlyArray<readonly [verdict: string, ...addresses: string[]]> = [
  [
    'unspecified',
    '0.0.0.0',
    '0.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::1.1.1.1',
    '0:0::8.8.8.8',
    '::ffff:ffff',
  ],
  ['loopback', '127.0.0.1', '127.255.255.255', '::ffff:127.0.0.1', '::ffff:7f00:1'],
  ['private', '10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  ['link_local', '169.254.0.0', '169.254.169.254', 'fe80::', 'febf:ffff::1'],
  ['unique_local', 'fc00::', 'fdff:ffff::1'],
  ['site_local', 'fec0::', 'feff:ffff::1'],
  ['shared', '100.64.0.0', '100.127.255.255'],
  ['multicast', '224.0.0.0', '239.255.255.255', 'ff00::', 'ff02::1'],
  ['reserved', '192.0.0.0', '192.0.0.255', '240.0.0.0', '255.255.255.255', '100::1'],
  ['benchmarking', '198.18.0.0', '198.19.255.255'],
  ['documentation', '192.0.2.1', '198.51.100.255', '203.0.113.7', '2001:db8::1', '3fff:fff::1'],
  ['translated', '64:ff9b::7f00:1', '64:ff9b:1::1', '64:ff9b:1:ffff::1', '::ffff:0:7f00:1'],
  ['tunnelled', '2001::1', '2001:0:ffff::1', '2002:7f00:1::', '2002:ffff::1'],
  ['private', '::ffff:10.0.0.1', '::ffff:c0a8:1'],
];

const PUBLIC = [
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.0',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700::1111',
  '2001:1::1',
  '2003::1',
  '64:ff9b:2::1',
  'fbff::1',
  '::ffff:1.1.1.1',
];

/** The machine's resolver or a URL parser turns these into addresses; as they stand they are none. */
const NOT_ADDRESSES = [
  '',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '017700000001',
  '127.0.0.01',
  '[::1]',
  '::1%lo',
  'fe80::1%eth0',
  'localhost',
  '127.0.0.1.',
  ' 127.0.0.1',
  '256.0.0.1',
];

describe('address verdict', () => {
  it.each(REFUSED)('refuses %s', (verdict, ...addresses) => {
    for (const address of addresses) expect([address, addressVerdict(address)]).toEqual([address, verdict]);
  });

  it('allows the addresses next to each denied range', () => {
    for (const address of PUBLIC) expect([address, addressVerdict(address)]).toEqual([address, 'public']);
  });

  it('accepts only the canonical notation of an address', () => {
    for (const text of NOT_ADDRESSES) expect([text, addressVerdict(text)]).toEqual([text, 'not_an_address']);
  });
});
