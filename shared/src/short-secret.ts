/** Of two to seven distinct characters, so many have 80 bits: 80 / log2 of their number. Of one, none do. */
const MIN_LENGTH_BY_DISTINCT: readonly number[] = [Infinity, Infinity, 80, 51, 40, 35, 31, 29];
/** Alphabets of 10, 16 and 26 characters. */
const MIN_LENGTH_BY_ALPHABET: ReadonlyArray<readonly [alphabet: RegExp, minLength: number]> = [
  [/^[0-9]*$/, 25],
  [/^(?:[0-9a-f]*|[0-9A-F]*)$/, 20],
  [/^(?:[a-z]*|[A-Z]*)$/, 18],
];
/** Of any other characters. */
const MIN_LENGTH = 16;
/** Two distinct characters have 80 bits from here on, so that longer texts need no closer look. */
const ALWAYS_LONG = 80;

const BASE64 = /^[A-Za-z0-9+/]{2,}={0,2}$/;
const PRINTABLE = /^[\x20-\x7e]*$/;

/**
 * Whether a text can hold less than 80 bits, so that guesses find it out (PROTOCOL.md section 5.5, "Short secrets"):
 * codes, PINs, most passwords. An upper bound by length and alphabet, not an estimate: what passes may still be
 * guessable.
 * @param text the replacement of a marker; an empty text is not short, since it is not injected
 */
export function isShortSecret(text: string): boolean {
  const counted = basicSecret(text) ?? text;
  return text !== '' && counted.length < minLength(counted);
}

/**
 * The part of HTTP Basic credentials in base64 (RFC 7617) that is secret: the password, or the user name where the
 * password is at most one character, as with API keys.
 * @returns undefined if the text is no such credential
 */
export function basicSecret(text: string): string | undefined {
  if (!BASE64.test(text) || text.replace(/=+$/, '').length % 4 === 1) return undefined;
  const decoded = atob(text.replace(/=+$/, ''));
  const colon = decoded.indexOf(':');
  if (colon === -1 || !PRINTABLE.test(decoded)) return undefined;
  const password = decoded.slice(colon + 1);
  return password.length > 1 ? password : decoded.slice(0, colon);
}

function minLength(text: string): number {
  if (text.length >= ALWAYS_LONG) return text === text.charAt(0).repeat(text.length) ? Infinity : 0;
  const byDistinct = MIN_LENGTH_BY_DISTINCT[distinctCharacters(text)];
  return byDistinct ?? MIN_LENGTH_BY_ALPHABET.find(([alphabet]) => alphabet.test(text))?.[1] ?? MIN_LENGTH;
}

/** No more are counted than make a difference. */
function distinctCharacters(text: string): number {
  const seen = new Set<string>();
  for (const character of text) if (seen.add(character).size === MIN_LENGTH_BY_DISTINCT.length) break;
  return seen.size;
}
