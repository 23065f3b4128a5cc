import { describe, expect, it } from 'vitest';
import { readRegistration } from './bind.ts';

const CODE = '6d6a3bd5-7c5a-4f46-a0b5-2d3a3f6f3c11';
const HASH = '0123456789abcdef'.padEnd(64, 'f');
const ADDRESS = 'https://hook.example/a~b';
const link = ({
  code = CODE,
  address = Buffer.from(ADDRESS).toString('base64url'),
  hash = HASH,
} = {}): string =>
  `https://vault.example/base/vault/webhook-bind?code=${code}&webhook_url=${address}&hmac_hash=${hash}`;
const READ = { serviceUrl: 'https://vault.example/base', code: CODE, webhookUrl: ADDRESS, hmacHash: HASH };

describe('readRegistration', () => {
  it.each([
    ['the link alone', link()],
    [
      'all that bind-link prints',
      `${link()}\n\nFingerprint  0123 4567 89ab cdef\nExpires      2026-11-20T12:00:00.000Z, works once\n`,
    ],
    ['the link twice, in marks', `"${link()}" <${link()}>`],
    [
      'plain base64 with padding',
      link({ address: encodeURIComponent(Buffer.from(ADDRESS).toString('base64')) }),
    ],
  ])('takes %s', (_what, text) => {
    expect(readRegistration(text)).toEqual(READ);
  });

  it.each([
    ['nothing', '', /no registration link/],
    ['another address', 'https://vault.example/vault?code=1', /no registration link/],
    ['a link that was cut', link().slice(0, -1), /not whole/],
    ['an upper-case code', link({ code: CODE.toUpperCase() }), /not whole/],
    [
      'an address that is none',
      link({ address: Buffer.from('https://u:p@hook.example').toString('base64url') }),
      /not whole/,
    ],
    ['an address that is no text', link({ address: '_____w' }), /not whole/],
    ['two links', `${link()}\n${link({ hash: 'e'.repeat(64) })}`, /more than one/],
    [
      'another link’s fingerprint',
      `${link()}\nFingerprint  ffff 4567 89ab cdef\n`,
      /fingerprint belongs to another link/,
    ],
    ['far too much', 'x'.repeat(70_000), /more than bind-link prints/],
  ])('refuses %s, without repeating it', (_what, text, said) => {
    expect(() => readRegistration(text)).toThrow(said);
    try {
      readRegistration(text);
    } catch (error) {
      expect(String(error)).not.toContain(CODE);
    }
  });
});
