import { utf8 } from '@svault/shared';
import { expect, test } from 'vitest';
import { codeOfStep } from './one-time-code.ts';

// RFC 6238 appendix B: the seed is the digits 1 to 0 over and over, as long as the hash.
const seed = (length: number): Uint8Array => utf8('1234567890'.repeat(7).slice(0, length));

test.each([
  ['SHA1', 20, 59, '94287082'],
  ['SHA256', 32, 59, '46119246'],
  ['SHA512', 64, 59, '90693936'],
  ['SHA1', 20, 1111111109, '07081804'],
  ['SHA512', 64, 20000000000, '47863826'],
] as const)(
  'a code by %s with %d bytes at second %d is the one of the RFC',
  (algorithm, length, second, code) => {
    expect(codeOfStep(seed(length), Math.floor(second / 30), { algorithm, digits: 8 })).toBe(code);
  },
);
