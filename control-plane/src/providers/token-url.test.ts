import { describe, expect, it } from 'vitest';
import { createTokenUrlRule } from './token-url.ts';

const rule = createTokenUrlRule(['127.0.0.0/8', 'idp.internal']);

describe('the address of a provider', () => {
  it.each([
    'https://id.example.org/token',
    'https://id.example.org/token?tenant=a&policy=b',
    'https://127.0.0.1/token',
    'http://127.0.0.1:9/token',
    'http://idp.internal/token',
  ])('%s', (url) => {
    expect(rule(url)).toBeUndefined();
  });

  it.each(['http://id.example.org/token', 'http://10.0.0.1/', 'http://[::1]/', 'http://idp.internal.evil/'])(
    '%s is no https, and not what the operator named',
    (url) => {
      expect(rule(url)).toBe('must start with https://');
    },
  );

  it.each(['api_key', 'access_token', 'client_secret', 'PASSWORD', 'sig', 'api%5fkey', 'a[token]'])(
    'has no secret in its query: %s',
    (name) => {
      expect(rule(`https://id.example.org/token?x=1&${name}=2`)).toBe('must have no secret in its query');
    },
  );
});
