import { expect, it } from 'vitest';
import { localPath } from './return-to.ts';

it.each([
  ['/', '/'],
  ['/vault/webhook-bind', '/vault/webhook-bind'],
  ['/login/cli?request=clr_1&a=b%2Fc', '/login/cli?request=clr_1&a=b%2Fc'],
  ['/a/../b', '/b'],
  ['/a#fragment', '/a'],
  ['/@evil.example', '/@evil.example'],
  ['/http://evil.example', '/http://evil.example'],
])('localPath accepts %s', (text, path) => {
  expect(localPath(text)).toBe(path);
});

it.each([
  undefined,
  ['/a'],
  '',
  'a',
  '?a=b',
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/.//evil.example',
  '/..//evil.example',
  '/a/..//evil.example',
  '/%2e//evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '\t//evil.example',
  ' //evil.example',
  'https://evil.example',
  'https:evil.example',
  'javascript:alert(1)',
  '/a\r\nSet-Cookie: a=b',
  '/ä',
  `/${'a'.repeat(2_000)}`,
  `/${'{'.repeat(700)}`,
])('localPath rejects %j', (text) => {
  expect(localPath(text)).toBeUndefined();
});
