import { toBase64, toBase64url, utf8 } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import { decodeWebhookUrl, fingerprintOf, problemOfWebhookUrl, readOffer } from './registration-link.ts';

const offer = {
  code: '0f8fad5b-d9cb-469f-a165-70867728950e',
  webhookUrl: 'https://vault.example.org/hook',
  hmacHash: '0123456789abcdef'.repeat(4),
};

describe('the offer of a registration link', () => {
  it('has the address in canonical form', () => {
    expect(readOffer({ ...offer, webhookUrl: 'HTTPS://Vault.Example.org:443/hook' })).toEqual(offer);
  });

  it.each([
    ['code', undefined],
    ['code', offer.code.toUpperCase()],
    ['webhookUrl', undefined],
    ['webhookUrl', 'https://a@b'],
    ['hmacHash', offer.hmacHash.slice(1)],
    ['hmacHash', offer.hmacHash.toUpperCase()],
  ])('is rejected with %s = %s', (part, value) => {
    expect(readOffer({ ...offer, [part]: value })).toBeUndefined();
  });

  it('has the first 16 hex digits of its hash, in fours, as its fingerprint', () => {
    expect(fingerprintOf(offer.hmacHash)).toBe('0123 4567 89ab cdef');
  });
});

describe('the webhook_url of a registration link', () => {
  const url = 'https://vault.example.org/~~~/a~~b';
  const base64 = toBase64(utf8(url));

  it('has plus or slash in plain base64 in these tests', () => {
    expect(base64).toMatch(/[+/]/);
  });

  it.each([
    ['base64url', toBase64url(utf8(url))],
    ['base64', base64],
    ['base64 without padding', base64.replace(/=+$/, '')],
    ['base64 with a space for the plus', base64.replaceAll('+', ' ')],
  ])('is decoded from %s', (_form, encoded) => {
    expect(decodeWebhookUrl(encoded)).toBe(url);
  });

  it.each(['!!!', 'a', toBase64url(Uint8Array.of(0xff, 0xfe))])('is rejected as %s', (encoded) => {
    expect(decodeWebhookUrl(encoded)).toBeUndefined();
  });
});

it('problemOfWebhookUrl names the problem of a malformed address', () => {
  expect(problemOfWebhookUrl('https://vault.example.org')).toBeUndefined();
  expect(problemOfWebhookUrl('ftp://vault.example.org')).toBe('must start with https://');
  expect(problemOfWebhookUrl('https://vault.example.org/')).toBe('must not end with a slash');
});
