import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8 } from '../bytes.ts';
import { type SignedMessage, type HeaderPairs, headerPairs } from './message.ts';
import { type RequestToSign, signRequest } from './sign.ts';
import { signatureBase } from './signature-base.ts';
import { SignatureRefused } from './signature-refused.ts';
import { nonceClaimUntil, parseSignature, verifySignature } from './verify.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const KEY = { id: 'k1', secret: Buffer.alloc(32, 7) };
const POLICY = { key: KEY.secret, nowMs: NOW_MS, skewSeconds: 30, maxLifetimeSeconds: 60 } as const;
const BODY = utf8('{"op":"tokens.get","serviceName":"github"}');

const sign = (more: Partial<RequestToSign> = {}): SignedMessage => {
  const request: RequestToSign = {
    method: 'POST',
    authority: 'hook.example',
    path: '/v1/proxy',
    headers: { 'sv-ticket': 'aaaa.bbbb.cccc' },
    body: BODY,
    key: KEY,
    nowMs: NOW_MS,
    ...more,
  };
  const { method, authority, path, body = new Uint8Array(0) } = request;
  return { method, authority, path, query: '', headers: Object.entries(signRequest(request)), body };
};

/** `accepted`, or the reason of our own refusal; anything else that is thrown fails the test. */
const outcome = (
  message: SignedMessage,
  policy: { readonly key?: Uint8Array; readonly nowMs?: number } = {},
): string => {
  try {
    verifySignature(message, parseSignature(message), { ...POLICY, ...policy });
    return 'accepted';
  } catch (error) {
    if (error instanceof SignatureRefused) return error.reason;
    throw error;
  }
};
const withField = (
  message: SignedMessage,
  name: string,
  change: (value: string) => string,
): SignedMessage => ({
  ...message,
  headers: message.headers.map(([field, value]) => [field, field === name ? change(value) : value]),
});
const flipBit = (text: string, bit: number): string => {
  const bytes = Buffer.from(text, 'latin1');
  const at = Math.floor(bit / 8) % bytes.length;
  bytes[at] = bytes[at]! ^ (1 << (bit % 8));
  return bytes.toString('latin1');
};

describe('a signed request', () => {
  it('has a nonce that no other request of the same moment has, and that begins as theirs do', () => {
    const nonces = Array.from({ length: 500 }, () => parseSignature(sign()).nonce);
    expect(new Set(nonces).size).toBe(500);
    expect(new Set(nonces.map((nonce) => nonce.slice(0, 8))).size).toBe(1);
    expect(parseSignature(sign({ nowMs: NOW_MS + 1 })).nonce.slice(0, 8)).not.toBe(nonces[0]?.slice(0, 8));
  });

  it('verifies, for any signed content', () => {
    const extra = fc.dictionary(fc.stringMatching(/^x-[a-zA-Z0-9-]{1,10}$/), fc.stringMatching(/^[\t -~]*$/));
    const path = fc.stringMatching(/^\/[!-~]{0,40}$/);
    fc.assert(
      fc.property(
        extra,
        path,
        fc.uint8Array(),
        fc.integer({ min: 1, max: 60 }),
        (headers, target, body, ttlSeconds) => {
          const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
          fc.pre(names.size === Object.keys(headers).length);
          expect(outcome(sign({ headers, path: target, body, ttlSeconds }))).toBe('accepted');
        },
      ),
    );
  });

  it('has the key id, the time of signing, and the expiry of its nonce', () => {
    const parsed = parseSignature(sign({ nonce: 'A'.repeat(22) }));
    expect(parsed).toMatchObject({
      keyId: 'k1',
      created: NOW_MS / 1000,
      expires: NOW_MS / 1000 + 60,
      nonce: 'A'.repeat(22),
      tag: 'sv-webhook-v1',
      covered: ['@method', '@authority', '@path', '@query', 'content-type', 'content-digest', 'sv-ticket'],
    });
    expect(nonceClaimUntil(parsed)).toBe(NOW_MS / 1000 + 90);
  });

  it('has a new nonce each time', () => {
    const nonces = Array.from({ length: 1000 }, () => parseSignature(sign()).nonce);
    expect(new Set(nonces).size).toBe(1000);
  });

  it('carries no content fields without a body', () => {
    expect(
      Object.keys(signRequest({ method: 'POST', authority: 'h.example', path: '/', key: KEY, nowMs: 0 })),
    ).toEqual(['signature-input', 'signature']);
  });

  it.each([
    ['a key of 31 bytes', { key: { id: 'k1', secret: Buffer.alloc(31) } }],
    ['a key of 33 bytes', { key: { id: 'k1', secret: Buffer.alloc(33) } }],
    ['a key of 36 bytes that is no code', { key: { id: 'k1', secret: Buffer.alloc(36) } }],
    ['a code of 32 bytes', { key: { id: 'bind', secret: Buffer.alloc(32) } }],
    ['an empty key id', { key: { id: '', secret: Buffer.alloc(32) } }],
    ['a key id with a quote', { key: { id: 'a"b', secret: Buffer.alloc(32) } }],
    ['a life of 61 seconds', { ttlSeconds: 61 }],
    ['no life', { ttlSeconds: 0 }],
    ['half a second', { ttlSeconds: 0.5 }],
  ])('cannot be created with %s', (_case, more) => {
    expect(() => sign(more)).toThrow(RangeError);
  });

  it.each([
    ['a line feed in a field', { headers: { 'x-a': 'b\nc' } }, 'field_value'],
    ['a letter beyond ASCII in a field', { headers: { 'x-a': 'é' } }, 'field_value'],
    ['a name that is none', { headers: { 'x a': 'b' } }, 'component_unknown'],
    ['a line feed in the path', { path: '/a\nb' }, 'target'],
    ['a space in the method', { method: 'PO ST' }, 'target'],
    ['an empty authority', { authority: '' }, 'target'],
  ])('cannot be created over %s', (_case, more, reason) => {
    expect(() => sign(more)).toThrow(expect.objectContaining({ name: 'SignatureRefused', reason }));
  });

  it('is rejected under a key of another length, before anything is computed', () => {
    for (const bytes of [0, 31, 33, 36, 64])
      expect(outcome(sign(), { key: Buffer.alloc(bytes, 7) })).toBe('key_length');
  });

  it('is valid for 30 seconds before and after its time, and not a millisecond longer', () => {
    const message = sign();
    const at = (ms: number): string => outcome(message, { nowMs: NOW_MS + ms });
    expect(at(-30_000)).toBe('accepted');
    expect(at(-30_001)).toBe('not_yet_valid');
    expect(at(90_000)).toBe('accepted');
    expect(at(90_001)).toBe('expired');
  });

  it('may have header names in any case and surrounding spaces', () => {
    const { headers, ...message } = sign();
    const rewritten = headers.map(([name, value]) => [name.toUpperCase(), ` \t${value}\t `] as const);
    expect(outcome({ ...message, headers: rewritten })).toBe('accepted');
  });
});

describe('any one bit flipped (R15)', () => {
  const field = (name: string) => (bit: number) =>
    outcome(withField(sign(), name, (value) => flipBit(value, bit)));
  const part = (name: 'authority' | 'method' | 'path') => (bit: number) =>
    outcome({ ...sign(), [name]: flipBit(sign()[name], bit) });

  it.each<[string, (bit: number) => string, runs?: number]>([
    ['the signature', field('signature')],
    ['Signature-Input', field('signature-input'), 2000],
    ['the covered field content-type', field('content-type')],
    ['the covered field content-digest', field('content-digest')],
    ['the covered field sv-ticket', field('sv-ticket')],
    ['the method', part('method')],
    ['the authority', part('authority')],
    ['the path', part('path')],
  ])('in %s is rejected', (_what, outcomeOf, numRuns = 100) => {
    fc.assert(
      fc.property(fc.nat({ max: 1 << 20 }), (bit) => outcomeOf(bit) !== 'accepted'),
      { numRuns },
    );
  });

  it.each<[string, (bit: number) => string, string]>([
    [
      'the body',
      (bit) => {
        const message = sign();
        const body = Buffer.from(flipBit(Buffer.from(message.body).toString('latin1'), bit), 'latin1');
        return outcome({ ...message, body });
      },
      'digest_mismatch',
    ],
    [
      'the key',
      (bit) => outcome(sign(), { key: Buffer.from(flipBit(KEY.secret.toString('latin1'), bit), 'latin1') }),
      'mac',
    ],
  ])('in %s is rejected, with its specific reason', (_what, outcomeOf, reason) => {
    fc.assert(fc.property(fc.nat({ max: 1 << 20 }), (bit) => outcomeOf(bit) === reason));
  });
});

describe('the parser', () => {
  const withHeaders = (headers: HeaderPairs): SignedMessage => ({ ...sign(), headers });

  it('throws only its own error, for any two headers', () => {
    const piece = fc.constantFrom(
      'sv',
      '=',
      '(',
      ')',
      '"@method"',
      '"@path"',
      '"',
      ';',
      'created',
      '1',
      '=1',
      ',',
      ':',
      'AAAA',
      ' ',
      '\\',
      '%"',
      '@',
      '?1',
      '-',
      '.',
      '\u0000',
      'é',
      '\n',
    );
    const value = fc.oneof(
      fc.string(),
      fc.array(piece, { maxLength: 30 }).map((pieces) => `sv=${pieces.join('')}`),
    );
    fc.assert(
      fc.property(
        value,
        value,
        (input, signature) =>
          outcome(
            withHeaders([
              ['signature-input', input],
              ['signature', signature],
            ]),
          ) !== 'accepted',
      ),
      { numRuns: 3000 },
    );
  });

  it('throws only its own error, for any replaced part of a valid request', () => {
    const name = fc.constantFrom('signature-input', 'signature', 'content-digest', 'content-type');
    fc.assert(
      fc.property(name, fc.nat(400), fc.nat(20), fc.string({ maxLength: 10 }), (field, at, length, put) => {
        const message = sign();
        const changed = withField(
          message,
          field,
          (value) => value.slice(0, at) + put + value.slice(at + length),
        );
        const isSame = JSON.stringify(changed) === JSON.stringify(message);
        expect(typeof outcome(changed)).toBe('string');
        fc.pre(!isSame);
      }),
      { numRuns: 3000 },
    );
  });

  it('accepts only the strict serialisation, so that a repeated parameter is detected', () => {
    const input = (change: (value: string) => string): string =>
      outcome(withField(sign(), 'signature-input', change));
    expect(input((value) => `${value};tag="sv-webhook-v1"`)).toBe('signature_input_malformed');
    expect(input((value) => value.replace('" "', '"  "'))).toBe('signature_input_malformed');
    expect(input((value) => value.replace(';expires', '; expires'))).toBe('signature_input_malformed');
    expect(input((value) => value.replace('created=', 'created=0'))).toBe('signature_input_malformed');
    expect(input((value) => value.replace(/created=\d+/, 'created=9999999999999999'))).toBe(
      'signature_input_malformed',
    );
    expect(input((value) => value.replace(/created=\d+/, 'created=-1'))).toBe('mac');
  });

  it('rejects values that can be parsed but not serialised', () => {
    for (const odd of [
      '@999999999999999',
      '@-999999999999999',
      '-0',
      '-0.0004',
      '%"%e2%82%ac"',
      ':=:',
      ':A:',
    ]) {
      const changed = withField(sign(), 'signature-input', (value) =>
        value.replace(/created=\d+/, `created=${odd}`),
      );
      expect([odd, outcome(changed)]).toEqual([
        odd,
        expect.stringMatching(/^(signature_input_malformed|created)$/),
      ]);
    }
  });

  it('takes linear time for very long headers', () => {
    const long = 'a'.repeat(1 << 20);
    expect(outcome(withField(sign(), 'signature-input', () => `sv=("${long}`))).toBe(
      'signature_input_malformed',
    );
    expect(outcome(withField(sign(), 'signature-input', () => ' '.repeat(1 << 20)))).toBe('label');
    expect(outcome(withField(sign(), 'signature', () => `sv=:${long}:`))).toBe('mac');
  });

  it('takes linear time for very many fields', () => {
    const names = Array.from({ length: 30_000 }, (_, at) => `x-${String(at).padStart(5, '0')}`);
    expect(outcome(sign({ headers: Object.fromEntries(names.map((name) => [name, ''])) }))).toBe('accepted');
  });

  it('reads pairs from Node’s flat list of raw headers, including a name without a value', () => {
    expect(headerPairs(['A', '1', 'a', '2'])).toEqual([
      ['A', '1'],
      ['a', '2'],
    ]);
    expect(headerPairs(['A'])).toEqual([]);
    expect(headerPairs([])).toEqual([]);
  });
});

describe('the signature base', () => {
  it('separates its lines by LF, with none at the end', () => {
    const message = { ...sign(), query: '?a=b' };
    expect(signatureBase(message, ['@method', '@query', 'sv-ticket'], '()')).toBe(
      '"@method": POST\n"@query": ?a=b\n"sv-ticket": aaaa.bbbb.cccc\n"@signature-params": ()',
    );
  });
});
