import { expect, test } from 'vitest';
import { readCookie, sessionCookie } from './cookies.ts';

test.each([
  [undefined, undefined],
  ['', undefined],
  ['svault=abc', 'abc'],
  ['a=b; svault=abc ; c=d', 'abc'],
  ['a=b;svault=abc', 'abc'],
  ['xsvault=abc; svault2=d', undefined],
  ['svault=abc; svault=abc', undefined],
  ['svault=a=b', 'a=b'],
])('reads %j as %j', (header, value) => {
  expect(readCookie(header, 'svault')).toBe(value);
});

test('has the __Host- prefix exactly where browsers allow it', () => {
  expect(sessionCookie('https://svault.example').set('v', 60)).toBe(
    '__Host-svault=v; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=60',
  );
  expect(sessionCookie('http://127.0.0.1:8080').set('v', 60)).toBe(
    'svault=v; Path=/; HttpOnly; SameSite=Lax; Max-Age=60',
  );
});
