import { describe, expect, it } from 'vitest';
import { parseAllowList } from './allow-list.ts';

describe('allow list', () => {
  it('matches addresses in a range, IPv4-mapped forms included, and no others', () => {
    const allow = parseAllowList(['127.0.0.0/8', 'fd00::/8', '10.1.2.3']);
    for (const ip of ['127.9.9.9', '::ffff:127.0.0.1', 'fd12::1', '10.1.2.3'])
      expect(allow.namesAddress(ip)).toBe(true);
    for (const ip of ['128.0.0.1', 'fc00::1', '10.1.2.4', 'localhost', '2130706433', ''])
      expect(allow.namesAddress(ip)).toBe(false);
  });

  it('matches host names exactly: no suffix, no prefix, no trailing dot', () => {
    const allow = parseAllowList(['Hook.Internal', 'localhost']);
    expect(allow.namesHost('hook.internal')).toBe(true);
    for (const host of ['a.hook.internal', 'internal', 'hook.internal.', 'localhost.', 'xlocalhost'])
      expect(allow.namesHost(host)).toBe(false);
  });

  it('matches a host that is an address literal by its range', () => {
    expect(parseAllowList(['127.0.0.1/32']).namesHost('127.0.0.1')).toBe(true);
  });

  it.each([
    '',
    '*',
    '127.0.0.1/33',
    '127.1',
    '127.1/8',
    'fe80::1%eth0',
    'https://host',
    'host/path',
    'a..b',
    '::1/129',
    '0x7f.1',
  ])('rejects the entry %j and names it', (entry) => {
    expect(() => parseAllowList([entry])).toThrow(JSON.stringify(entry));
  });
});
