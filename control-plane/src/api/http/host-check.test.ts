import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { createHostCheck } from './host-check.ts';

const requestTo = (host: string | undefined): IncomingMessage => ({ headers: { host } }) as IncomingMessage;
const isOwn = createHostCheck('https://vault.example.com', () => false);

it.each([
  'vault.example.com',
  'vault.example.com:443',
  'VAULT.example.com',
  'localhost',
  'localhost:8080',
  '127.0.0.1',
  '192.0.2.7:8080',
  '[::1]',
  '[2001:db8::1]:8080',
  undefined,
])('Host: %j is ours', (host) => expect(isOwn(requestTo(host))).toBe(true));

it.each([
  'evil.example',
  'example.com',
  'vault.example.com.evil.example',
  'xvault.example.com',
  'vault.example.com.',
  'localhost.',
  'localhost.evil.example',
  '127.0.0.1.nip.io',
  '127.1',
  '0x7f000001',
  '[::1',
  '[evil.example]',
  'vault.example.com@evil.example',
  'vault.example.com:443:80',
  ' vault.example.com',
  '',
])('Host: %j is foreign', (host) => expect(isOwn(requestTo(host))).toBe(false));

it('any Host of a trusted proxy is ours', () => {
  expect(createHostCheck('https://vault.example.com', () => true)(requestTo('upstream'))).toBe(true);
});
