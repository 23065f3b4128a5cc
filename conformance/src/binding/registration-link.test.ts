import { describe, expect, test } from 'vitest';
import { TargetRefused } from '../target.ts';
import { parseRegistrationLink } from './registration-link.ts';

const CODE = '0b7e1f9c-52aa-4c0e-9d7f-3a5be8c1d2f4';
const HASH = 'ab'.repeat(32);
const SERVICE = 'https://service.example/base';

const linkTo = (parts: { webhookUrl?: string; code?: string; hash?: string } = {}): string =>
  `${SERVICE}/vault/webhook-bind?code=${parts.code ?? CODE}&webhook_url=${
    parts.webhookUrl ?? Buffer.from('https://hook.example').toString('base64url')
  }&hmac_hash=${parts.hash ?? HASH}`;
const parse = (text: string, serviceUrl?: string): ReturnType<typeof parseRegistrationLink> =>
  parseRegistrationLink(text, { timeoutMs: 1000, serviceUrl });

test('a link has the webhook’s address, the control plane’s address and the code', () => {
  expect(parse(linkTo())).toEqual({
    address: { webhookUrl: 'https://hook.example', serviceUrl: SERVICE, timeoutMs: 1000 },
    invitation: { code: CODE, hmacHash: HASH, link: linkTo() },
  });
});

describe('the webhook’s address is read', () => {
  const url = 'https://hook.example:8443/some/path';
  const bytes = Buffer.from(url);
  test.each([
    ['as base64url', bytes.toString('base64url')],
    ['as base64 with padding', encodeURIComponent(bytes.toString('base64'))],
    ['as base64 with padding that nobody encoded', bytes.toString('base64')],
    ['as base64 without padding', bytes.toString('base64').replace(/=+$/, '')],
  ])('%s', (_, webhookUrl) => {
    expect(parse(linkTo({ webhookUrl })).address.webhookUrl).toBe(url);
  });

  test('with a plus, which a query decodes as a space', () => {
    const withPlus = 'https://hook.example/aa~';
    const webhookUrl = Buffer.from(withPlus).toString('base64');
    expect(webhookUrl).toContain('+');
    expect(parse(linkTo({ webhookUrl })).address.webhookUrl).toBe(withPlus);
  });
});

test('a link is found in the output of a command', () => {
  const printed = `webhook at https://hook.example\nopen "${linkTo()}" within 5 minutes`;
  expect(parse(printed)).toEqual(parse(linkTo()));
});

test('the control plane’s address may differ from the link’s', () => {
  expect(parse(linkTo(), 'https://other.example').address.serviceUrl).toBe('https://other.example');
});

test('letters in the wrong case are kept for a check to report', () => {
  const link = linkTo({ code: CODE.toUpperCase(), hash: HASH.toUpperCase() });
  expect(parse(link)).toMatchObject({
    invitation: { code: CODE.toUpperCase(), hmacHash: HASH.toUpperCase() },
  });
});

test.each([
  ['no link at all', 'nothing'],
  ['a link to somewhere else', 'https://service.example/vault'],
  ['a link without code', linkTo().replace('code=', 'cod=')],
  ['a code that was cut', linkTo({ code: CODE.slice(1) })],
  ['a hash that was cut', linkTo({ hash: HASH.slice(1) })],
  ['an address that is no base64', linkTo({ webhookUrl: '!!!' })],
  ['an address that is no URL', linkTo({ webhookUrl: Buffer.from('hook').toString('base64url') })],
  ['a link with two slashes after the service', linkTo().replace('/vault', '//vault')],
])('%s is rejected', (_, text) => {
  expect(() => parse(text)).toThrow(TargetRefused);
});
