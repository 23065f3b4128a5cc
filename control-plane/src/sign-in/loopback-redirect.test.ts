import { describe, expect, it } from 'vitest';
import { isLoopbackRedirect } from './loopback-redirect.ts';

describe('a loopback redirect', () => {
  it.each([
    'http://127.0.0.1:1',
    'http://127.0.0.1:65535/',
    'http://[::1]:49152/callback',
    'http://127.0.0.1:8/a/b.c',
  ])('can be %s', (uri) => {
    expect(isLoopbackRedirect(uri)).toBe(true);
  });

  it.each([
    'http://127.0.0.1',
    'http://127.0.0.1/',
    'http://127.0.0.1:0/',
    'http://127.0.0.1:65536/',
    'http://127.0.0.1:080/',
    'https://127.0.0.1:8080/',
    'HTTP://127.0.0.1:8080/',
    'http://localhost:8080/',
    'http://127.0.0.2:8080/',
    'http://127.1:8080/',
    'http://2130706433:8080/',
    'http://0x7f000001:8080/',
    'http://0.0.0.0:8080/',
    'http://[::]:8080/',
    'http://[::ffff:127.0.0.1]:8080/',
    'http://[0:0:0:0:0:0:0:1]:8080/',
    'http://127.0.0.1.evil.example:8080/',
    'http://127.0.0.1:8080@evil.example/',
    'http://user@127.0.0.1:8080/',
    'http://127.0.0.1:8080/?a=b',
    'http://127.0.0.1:8080/#a',
    'http://127.0.0.1:8080\\@evil.example/',
    'http://127.0.0.1:8080/\r\nSet-Cookie: a=b',
    'http://127.0.0.1:8080/\n',
    'http://127.0.0.1:8080/%0a',
    ' http://127.0.0.1:8080/',
    'http:/127.0.0.1:8080/',
    'http:127.0.0.1:8080',
    '//127.0.0.1:8080/',
    'javascript:alert(1)',
    'svault://127.0.0.1:8080/',
    `http://127.0.0.1:8080/${'a'.repeat(200)}`,
    '',
  ])('cannot be %j', (uri) => {
    expect(isLoopbackRedirect(uri)).toBe(false);
  });
});
