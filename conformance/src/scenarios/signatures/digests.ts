import { createHash } from 'node:crypto';
import { toBase64, utf8 } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { hasBody, refusesSignatures, takesSignatures, type Place } from './signed-requests.ts';

const bytes = (algorithm: 'sha256' | 'sha512', text: string): string =>
  toBase64(createHash(algorithm).update(utf8(text)).digest());

/** Members of `Content-Digest` for the body of a place: right ones, and those of another body. */
function members({ body }: Place): Readonly<Record<'right' | 'wrong' | 'right512' | 'wrong512', string>> {
  const other = `${body} `;
  return {
    right: `sha-256=:${bytes('sha256', body)}:`,
    wrong: `sha-256=:${bytes('sha256', other)}:`,
    right512: `sha-512=:${bytes('sha512', body)}:`,
    wrong512: `sha-512=:${bytes('sha512', other)}:`,
  };
}

/** Protocol section 3.3: the digest of the body. */
export const SIGNATURE_DIGEST_CHECKS: readonly Check[] = [
  refusesSignatures(
    {
      id: 'signature.tampered-body',
      title: 'a body that differs from the signed digest is refused',
      requirements: ['SIG-52'],
    },
    (place) => {
      const { body } = place;
      const sent = (text: string): ReturnType<Place['sign']> => ({ ...place.sign(), body: text });
      if (body === '') return { 'a body where none was signed': sent('{}') };
      return {
        'another body of the same length': sent(`${body.slice(0, -1)} `),
        'a line feed behind the body': sent(`${body}\n`),
        'the body taken away': sent(''),
      };
    },
  ),
  takesSignatures(
    {
      id: 'signature.digest-beside-another',
      title: 'digests by other algorithms beside sha-256 are ignored',
      requirements: ['SIG-53'],
    },
    (place) => {
      const { right, right512, wrong512 } = members(place);
      return {
        'a right sha-512 behind it': { contentDigest: `${right}, ${right512}` },
        'a wrong sha-512 before it': { contentDigest: `${wrong512}, ${right}` },
        'one that nobody knows': { contentDigest: `${right}, unixsum=:AAA=:` },
      };
    },
    hasBody,
  ),
  refusesSignatures(
    {
      id: 'signature.digest-by-another',
      title: 'a digest by another algorithm alone is refused',
      requirements: ['SIG-51'],
    },
    (place) => {
      const { right, right512 } = members(place);
      return {
        'a right sha-512': { contentDigest: right512 },
        'a name that begins like it': { contentDigest: right.replace('sha-256', 'sha-256x') },
        'an empty Content-Digest': { contentDigest: '' },
      };
    },
    hasBody,
  ),
  refusesSignatures(
    {
      id: 'signature.digest-wrong',
      title: 'a wrong sha-256 is refused, whatever stands beside it',
      requirements: ['SIG-52'],
    },
    (place) => {
      const { right, wrong, right512 } = members(place);
      return {
        'a right sha-512 behind it': { contentDigest: `${wrong}, ${right512}` },
        'a right sha-512 before it': { contentDigest: `${right512}, ${wrong}` },
        'half of the right one': { contentDigest: halfOf(right) },
        'an empty one': { contentDigest: 'sha-256=::' },
      };
    },
    hasBody,
  ),
  refusesSignatures(
    {
      id: 'signature.digest-twice',
      title: 'a sha-256 that appears twice is refused',
      requirements: ['SIG-51'],
    },
    (place) => {
      const { right, wrong } = members(place);
      return {
        'both right': { contentDigest: `${right}, ${right}` },
        'the first one wrong': { contentDigest: `${wrong}, ${right}` },
        'the last one wrong': { contentDigest: `${right}, ${wrong}` },
      };
    },
    hasBody,
  ),
];

function halfOf(member: string): string {
  const digest = Buffer.from(member.replace(/^sha-256=:|:$/g, ''), 'base64');
  return `sha-256=:${toBase64(digest.subarray(0, digest.byteLength / 2))}:`;
}
