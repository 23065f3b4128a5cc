import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  constantTimeEqual,
  fromBase64,
  fromBase64url,
  randomToken,
  sha256,
  toBase64,
  toBase64url,
  toHex,
  utf8,
} from './bytes.ts';

describe('base64', () => {
  it('decodes to the bytes that were encoded', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(fromBase64url(toBase64url(bytes))).toEqual(Buffer.from(bytes));
        expect(fromBase64(toBase64(bytes))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it('accepts exactly one encoding of each value', () => {
    for (const text of ['AA==', 'AA=', 'A', 'AB', 'AAA_AB', '+/8', ' AAA', 'AAA\n', 'AA AA', 'é'])
      expect([text, fromBase64url(text)]).toEqual([text, undefined]);
    for (const text of ['AA', 'AA=', 'A', 'AB==', '-_8=', ' AAA', 'AAAA\n', '=AAA', 'AA==AA=='])
      expect([text, fromBase64(text)]).toEqual([text, undefined]);
    expect(fromBase64url('')).toEqual(Buffer.alloc(0));
  });

  it('encodes a view of a larger buffer', () => {
    const part = new Uint8Array([0, 1, 2, 3, 4]).subarray(1, 4);
    expect([toBase64(part), toBase64url(part), toHex(part)]).toEqual(['AQID', 'AQID', '010203']);
  });
});

describe('sha256', () => {
  it('matches published digests', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) =>
        sha256(bytes).equals(createHash('sha256').update(bytes).digest()),
      ),
    );
  });
});

describe('constant-time equality', () => {
  it('agrees with equality for inputs of any lengths', () => {
    expect(constantTimeEqual(utf8('abc'), utf8('abc'))).toBe(true);
    expect(constantTimeEqual(utf8('abc'), utf8('abd'))).toBe(false);
    expect(constantTimeEqual(utf8('abc'), utf8('ab'))).toBe(false);
    expect(constantTimeEqual(utf8(''), utf8(''))).toBe(true);
  });
});

describe('random tokens', () => {
  it('never repeat, also after the pool is refilled many times', () => {
    const tokens = Array.from({ length: 20_000 }, () => randomToken());
    expect(new Set(tokens).size).toBe(tokens.length);
    expect(tokens.every((token) => /^[A-Za-z0-9_-]{22}$/.test(token))).toBe(true);
  });

  it('have the requested length, however much of the pool is left', () => {
    for (const bytes of [1, 16, 32, 33, 4000, 4096, 97])
      expect(fromBase64url(randomToken(bytes))?.length).toBe(bytes);
    expect(() => randomToken(0)).toThrow(RangeError);
    expect(() => randomToken(4097)).toThrow(RangeError);
  });

  it('share no memory with each other', () => {
    const [first, second] = [randomToken(64), randomToken(64)];
    expect(first.slice(0, 20)).not.toBe(second.slice(0, 20));
    expect(/^A+$/.test(first)).toBe(false);
  });
});
