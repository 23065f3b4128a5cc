import { describe, expect, it } from 'vitest';
import { isDocumentAddress } from './document-address.ts';

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
