import { randomInt } from 'node:crypto';

/** No vowels, so that no word comes out, and no letter that is read as another (RFC 8628 section 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const HALF = 4;

/** What a person compares between terminal and browser, such as `WDJB-MJHT`: 34 bits, and good for nothing else. */
export function newUserCode(): string {
  const letters = Array.from({ length: 2 * HALF }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  return `${letters.slice(0, HALF)}-${letters.slice(HALF)}`;
}
