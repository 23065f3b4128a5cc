import { describe, expect, it } from 'vitest';
import { CHAIN_START, canonicalJson, chainHash } from './hash-chain.ts';

describe('canonicalJson', () => {
  it('has one form for equal entries, whatever the order of their members', () => {
    expect(canonicalJson({ b: [1, null, true], a: { d: 'ü', c: undefined } })).toBe(
      '{"a":{"d":"ü"},"b":[1,null,true]}',
    );
    expect(canonicalJson({ a: 1, b: 2 })).toBe(canonicalJson({ b: 2, a: 1 }));
  });
  it.each([1.5, Number.NaN, 2 ** 53, 10n, () => 1, Symbol('x')])('refuses %s', (value) => {
    expect(() => canonicalJson({ value })).toThrow(TypeError);
  });
});

describe('chainHash', () => {
  it('depends on the entry and on all entries before it', () => {
    const one = chainHash(CHAIN_START, canonicalJson({ seq: 1 }));
    expect(one).toMatch(/^[0-9a-f]{64}$/);
    expect(chainHash(one, canonicalJson({ seq: 2 }))).not.toBe(
      chainHash(CHAIN_START, canonicalJson({ seq: 2 })),
    );
    expect(chainHash(one, canonicalJson({ seq: 2 }))).not.toBe(chainHash(one, canonicalJson({ seq: 3 })));
  });
});
