import { describe, expect, it } from 'vitest';
import { authorityOf, parseWebhookUrl, signedPath, signedTarget } from './webhook-address.ts';

describe('the address of a webhook', () => {
  it.each([
    ['https://hook.example', 'https://hook.example', 'hook.example', ''],
    ['https://hook.example:443', 'https://hook.example', 'hook.example', ''],
    ['http://hook.example:80', 'http://hook.example', 'hook.example', ''],
    ['https://hook.example:80', 'https://hook.example:80', 'hook.example:80', ''],
    [
      'https://hook.example:8443/tenants/a-1_b.c~d',
      'https://hook.example:8443/tenants/a-1_b.c~d',
      'hook.example:8443',
      '/tenants/a-1_b.c~d',
    ],
    ['HTTPS://Hook.EXAMPLE/Path', 'https://hook.example/Path', 'hook.example', '/Path'],
    ['https://schlüssel.example', 'https://xn--schlssel-95a.example', 'xn--schlssel-95a.example', ''],
    ['http://127.0.0.1:8090', 'http://127.0.0.1:8090', '127.0.0.1:8090', ''],
    ['http://[::1]:8090/a', 'http://[::1]:8090/a', '[::1]:8090', '/a'],
  ])('%s', (text, url, authority, pathPrefix) => {
    expect(parseWebhookUrl(text)).toEqual({ ok: true, url, authority, pathPrefix });
    expect(authorityOf(text)).toBe(authority);
    expect(signedPath(text, '/v1/health')).toBe(`${pathPrefix}/v1/health`);
    expect(signedTarget(text, '/v1/health')).toEqual({ authority, path: `${pathPrefix}/v1/health` });
  });

  it.each([
    ['malformed', ''],
    ['malformed', 'hook.example'],
    ['malformed', '//hook.example'],
    ['malformed', 'https:hook.example'],
    ['malformed', 'https:/hook.example'],
    ['malformed', 'https://'],
    ['malformed', 'https:// hook.example'],
    ['malformed', ' https://hook.example'],
    ['malformed', 'https://hook.example\n'],
    ['malformed', 'https://hook.example\\@evil.example'],
    ['malformed', 'https://hook.example:99999'],
    ['malformed', `https://hook.example/${'a'.repeat(2048)}`],
    ['scheme', 'ftp://hook.example'],
    ['scheme', 'javascript:alert(1)'],
    ['userinfo', 'https://user@hook.example'],
    ['userinfo', 'https://user:password@hook.example'],
    ['userinfo', 'https://@hook.example'],
    ['query', 'https://hook.example?'],
    ['query', 'https://hook.example/a?b'],
    ['fragment', 'https://hook.example#'],
    ['fragment', 'https://hook.example/#/?a'],
    ['trailing_slash', 'https://hook.example/'],
    ['trailing_slash', 'https://hook.example/a/'],
    ['path', 'https://hook.example/a%2fb'],
    ['path', 'https://hook.example/a b'.replace(' ', '+')],
    ['path', 'https://hook.example/ä'],
    ['path', 'https://hook.example/a/../b'],
    ['path', 'https://hook.example/./a'],
  ])('is rejected with %s: %s', (reason, text) => {
    expect(parseWebhookUrl(text)).toEqual({ ok: false, reason });
    expect(() => authorityOf(text)).toThrow(RangeError);
    expect(() => signedPath(text, '/v1/health')).toThrow(RangeError);
    expect(() => signedTarget(text, '/v1/health')).toThrow(RangeError);
  });
});
