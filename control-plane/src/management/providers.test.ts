import { describe, expect, it } from 'vitest';
import { createTokenUrlRule } from './providers.ts';

const rule = createTokenUrlRule(['127.0.0.0/8', 'idp.internal']);

describe('the address of a provider', () => {
  it.each([
    'https://id.example.org/token',
    'https://id.example.org/token?tenant=a&policy=b',
    'https://127.0.0.1/token',
    'http://127.0.0.1:9/token',
    'http://idp.internal/token',
    'http://localhost:9/token',
  ])('%s', (url) => {
    expect(rule(url)).toBeUndefined();
  });

  it('has no http where the operator named nothing', () => {
    expect(createTokenUrlRule([])('http://localhost:9/token')).toBe('must start with https://');
  });

  it.each(['http://10.0.0.1/', 'http://[::1]/', 'http://0x0a000001/'])(
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
