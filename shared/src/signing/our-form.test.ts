import fc from 'fast-check';
import { expect, it } from 'vitest';
import { contentDigest, readAnyDigest, readDigest } from './content-digest.ts';
import { signRequest } from './sign.ts';
import { readAnySignatureInput, readSignatureInput } from './signature-input.ts';
import { SignatureRefused } from './signature-refused.ts';

/** What a reader makes of a text: its result, or the reason of its refusal. */
function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof SignatureRefused) return error.reason;
    throw error;
  }
}

/** A text with a piece of itself removed, repeated, or replaced by one that means something in a structured field. */
const damaged = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      text,
      fc.nat(),
      fc.nat({ max: 12 }),
      fc.constantFrom(
        '',
        ' ',
        '"',
        ';',
        '=',
        '-',
        '0',
        '(',
        ')',
        ',',
        ':',
        '@',
        'A',
        '\\',
        '?1',
        ';a=1',
        'é',
      ),
      fc.boolean(),
    )
    .map(([whole, at, length, piece, repeats]) => {
      const start = at % (whole.length + 1);
      const removed = whole.slice(start, start + length);
      return whole.slice(0, start) + piece + (repeats ? removed + removed : '') + whole.slice(start + length);
    });

const NAMES = [
  '@method',
  '@authority',
  '@path',
  '@query',
  'content-type',
  'sv-ticket',
  'x-1',
  '@status',
  'A',
];
const number = fc.oneof(fc.nat().map(String), fc.constantFrom('0', '01', '-1', '1.0', '9'.repeat(16), ''));
const word = fc.oneof(fc.stringMatching(/^[A-Za-z0-9_-]{0,70}$/), fc.constantFrom('a b', 'ü', 'a\\"b'));

const signatureInput = fc
  .tuple(fc.array(fc.constantFrom(...NAMES)), number, number, word, word)
  .map(
    ([names, created, expires, nonce, keyId]) =>
      `sv=(${['@method', '@authority', '@path', '@query', ...names].map((name) => `"${name}"`).join(' ')})` +
      `;created=${created};expires=${expires};nonce="${nonce}";keyid="${keyId}";alg="hmac-sha256";tag="sv-webhook-v1"`,
  );
const signed = fc
  .tuple(
    fc.uint8Array({ maxLength: 40 }),
    fc.dictionary(fc.constantFrom('sv-ticket', 'x-1'), fc.constant('v')),
  )
  .map(
    ([body, headers]) =>
      signRequest({
        method: 'POST',
        authority: 'hook.example',
        path: '/v1/proxy',
        headers,
        body,
        key: { id: 'k1', secret: new Uint8Array(32) },
        nowMs: 1_767_225_600_000,
      })['signature-input'] ?? '',
  );

it('The short reader of Signature-Input reads every text as the general reader of structured fields does', () => {
  const text = fc.oneof(signed, signatureInput, damaged(signed), damaged(signatureInput));
  fc.assert(
    fc.property(text, (value) => {
      expect(outcomeOf(() => readSignatureInput(value))).toEqual(
        outcomeOf(() => readAnySignatureInput(value)),
      );
    }),
    { numRuns: 2_000 },
  );
});

it('The short reader of Content-Digest reads every text as the general reader of structured fields does', () => {
  const digest = fc.uint8Array({ maxLength: 40 }).map(contentDigest);
  const other = fc
    .uint8Array({ maxLength: 40 })
    .map((bytes) => `md5=:${Buffer.from(bytes).toString('base64')}:`);
  const several = fc.array(fc.oneof(digest, other), { maxLength: 3 }).map((members) => members.join(', '));
  fc.assert(
    fc.property(fc.oneof(digest, several, damaged(digest), damaged(several)), (value) => {
      const [short, general] = [readDigest(value), readAnyDigest(value)];
      expect(short && Buffer.from(short)).toEqual(general && Buffer.from(general));
    }),
    { numRuns: 2_000 },
  );
});
