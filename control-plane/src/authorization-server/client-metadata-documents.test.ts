import { describe, expect, it } from 'vitest';
import { isDocumentAddress, secondsFresh } from './client-metadata-documents.ts';

describe('the address of a client metadata document', () => {
  it.each([
    'https://app.example/client.json',
    'https://app.example/oauth/client',
    'https://app.example:8443/client.json',
    'https://app.example/client.json?v=2',
    'https://xn--bcher-kva.example/client',
    'https://app.example/a..b/...',
  ])('can be %s', (text) => {
    expect(isDocumentAddress(text)).toBe(true);
  });

  it.each([
    '',
    'ocl_AAAAAAAAAAAAAAAAAAAAAA',
    'app.example/client.json',
    '//app.example/client.json',
    'http://app.example/client.json',
    'http://localhost/client.json',
    'ftp://app.example/client.json',
    'file:///client.json',
    'javascript:alert(1)',
    'https://app.example',
    'https://app.example/',
    'https://app.example?client',
    'https://app.example/client.json#',
    'https://app.example/client.json#x',
    'https://user@app.example/client.json',
    'https://user:pass@app.example/client.json',
    'https://@app.example/client.json',
    'https://app.example/./client.json',
    'https://app.example/a/../client.json',
    'https://app.example/a/%2e%2e/client.json',
    'https://app.example/%2E/client.json',
    'https://app.example/..',
    'HTTPS://app.example/client.json',
    'https://App.example/client.json',
    'https://app.example:443/client.json',
    'https://bücher.example/client',
    'https://app.example/clïent',
    'https://app.example/a b',
    'https://app.example\\client.json',
    ' https://app.example/client.json',
    'https://app.example/client.json\n',
    'https://2130706433/client.json',
    'https://0x7f.1/client.json',
    `https://app.example/${'a'.repeat(500)}`,
  ])('cannot be %j', (text) => {
    expect(isDocumentAddress(text)).toBe(false);
  });
});

it.each([
  [{}, 300],
  [{ 'cache-control': '' }, 300],
  [{ 'cache-control': 'public' }, 300],
  [{ 'cache-control': 'max-age=60' }, 60],
  [{ 'cache-control': 'public, Max-Age=60, must-revalidate' }, 60],
  [{ 'cache-control': 'max-age="60"' }, 60],
  [{ 'cache-control': 'max-age=0' }, 0],
  [{ 'cache-control': 'max-age=60', age: '20' }, 40],
  [{ 'cache-control': 'max-age=60', age: '90' }, 0],
  [{ 'cache-control': 'max-age=60', age: 'x' }, 60],
  [{ 'cache-control': 'no-store' }, 0],
  [{ 'cache-control': 'max-age=60, no-cache' }, 0],
  [{ 'cache-control': 'no-cache="x", max-age=60' }, 0],
  [{ 'cache-control': 'max-age=-1' }, 300],
  [{ 'cache-control': 'max-age=1e9' }, 300],
  [{ 'cache-control': 's-maxage=60' }, 300],
  [{ 'cache-control': 'max-age=86400' }, 86_400],
])('a response with headers %j is cached for %i seconds', (headers, seconds) => {
  expect(secondsFresh(headers, 300)).toBe(seconds);
});
