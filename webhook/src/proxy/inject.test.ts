import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFieldValue } from '@svault/shared';
import { injectToken } from './inject.ts';

const injected = (template: string, token: string): string | undefined =>
  injectToken({ Authorization: template }, token)?.get('authorization');

describe('a template', () => {
  it.each([
    ['Bearer ${TOKEN}', 'abc', 'Bearer abc'],
    ['Bearer $<TOKEN>', 'abc', 'Bearer abc'],
    ['${TOKEN}', 'abc', 'abc'],
    ['${TOKEN}:$<TOKEN>:${TOKEN}', 'a', 'a:a:a'],
    ['no marker', 'abc', 'no marker'],
    ['${token} ${TOKEN ${TOKENS} $TOKEN', 'abc', '${token} ${TOKEN ${TOKENS} $TOKEN'],
    ['Bearer ${TOKEN}', '${TOKEN}', 'Bearer ${TOKEN}'],
    ['Bearer ${TOKEN}', '$<TOKEN>${TOKEN}', 'Bearer $<TOKEN>${TOKEN}'],
    ['$${TOKEN}{TOKEN}', '', '${TOKEN}'],
    ['${TO${TOKEN}KEN}', '', '${TOKEN}'],
    ['Bearer ${TOKEN}', "$& $1 $$ $` $'", "Bearer $& $1 $$ $` $'"],
  ])('%j with %j is %j', (template, token, value) => {
    expect(injected(template, token)).toBe(value);
  });

  it.each(['a\r\nX-Evil: 1', 'a\n', '\r', 'a\0b', 'a\u007f', 'ä', '\u{1f600}', 'a\u010ab', '\u001b[0m'])(
    'does not take %j (R11)',
    (token) => {
      expect(injected('Bearer ${TOKEN}', token)).toBeUndefined();
      // A template without a marker is sent whatever the secret is.
      expect(injected('fixed', token)).toBe('fixed');
    },
  );

  it('is rejected with a line feed from a changed row', () => {
    expect(injected('a\r\nx-evil: 1', 'abc')).toBeUndefined();
  });

  it('is expanded in one pass, whatever the secret is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('${TOKEN}', '$<TOKEN>', '${', 'TOKEN', '}', '$<', '>', 'x')),
        (parts) => {
          const token = parts.join('');
          expect(injected('[${TOKEN}|$<TOKEN>]', token)).toBe(`[${token}|${token}]`);
          expect(isFieldValue(token)).toBe(true);
        },
      ),
    );
  });

  it('cannot repeat the secret without limit', () => {
    const token = 'x'.repeat(64 * 1024);
    expect(injected('${TOKEN}', token)).toBe(token);
    expect(injected('${TOKEN}'.repeat(3), token)).toBeUndefined();
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`x-${at}`, '${TOKEN}']));
    expect(injectToken(many, token)).toBeUndefined();
  });
});

it('header names are in lower case, and one spelling wins', () => {
  const headers = injectToken({ 'X-A': '1', __proto__x: '2', 'x-a': '3' }, 't');
  expect([...(headers ?? [])]).toEqual([
    ['x-a', '3'],
    ['__proto__x', '2'],
  ]);
});
