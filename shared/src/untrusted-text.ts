import type { HeaderPairs } from './signing/message.ts';

/**
 * What a reader does not see, or what moves what they see: controls, marks of direction, spaces other than the plain one,
 * invisible and unassigned characters, fillers, halves of characters, selectors of variants.
 */
const UNSEEN = /(?![ \n])(?:\p{C}|\p{Z}|\p{Default_Ignorable_Code_Point})/gu;
/** Marks in a pile cover the lines around them. */
const PILED_MARKS = /(?<=\p{M}{2})\p{M}/gu;

/** A text of somebody else's in which every character is seen; line ends stay. */
export const visibleText = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(UNSEEN, escaped).replaceAll(PILED_MARKS, escaped);

/** As {@link visibleText}, on one line. */
export const visibleLine = (text: string): string => visibleText(text).replaceAll('\n', '\\n');

const escaped = (character: string): string => `\\u{${codePointOf(character).toString(16)}}`;
const codePointOf = (character: string): number => character.codePointAt(0) ?? 0;

const BEYOND_ASCII = /[^\0-\x7f]/gu;
const SCRIPTS = [
  'Latin',
  'Greek',
  'Cyrillic',
  'Armenian',
  'Hebrew',
  'Arabic',
  'Devanagari',
  'Thai',
  'Georgian',
  'Hangul',
  'Hiragana',
  'Katakana',
  'Han',
] as const;
const SCRIPT_TESTS = SCRIPTS.map((script) => [script, new RegExp(`\\p{Script=${script}}`, 'u')] as const);
const MAX_NAMED = 8;

/** Characters of a name that may look like others, as the `а` of Cyrillic does. */
export interface Lookalikes {
  /** The first eight, each once. */
  readonly named: readonly {
    readonly character: string;
    /** Its code point, and its script where it is known: `U+0430, Cyrillic`. */
    readonly code: string;
  }[];
  /** How many more there are. */
  readonly more: number;
}

/** @returns undefined for a name of ASCII */
export function lookalikesIn(name: string): Lookalikes | undefined {
  const found = [...new Set(name.match(BEYOND_ASCII))];
  if (found.length === 0) return undefined;
  const named = found.slice(0, MAX_NAMED).map((character) => {
    const script = SCRIPT_TESTS.find(([, test]) => test.test(character))?.[0];
    const code = `U+${codePointOf(character).toString(16).toUpperCase().padStart(4, '0')}`;
    return { character, code: script === undefined ? code : `${code}, ${script}` };
  });
  return { named, more: found.length - named.length };
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const OTHER_CHARSET = /charset(?!=["']?(?:utf-?8|us-ascii)["']?[ \t]*(?:;|$))/i;

/**
 * The text of a body, JSON in lines where that says the same.
 *
 * @param fields of its header, names in lower case
 * @returns undefined where it is no UTF-8, or its header names another encoding, in which its receiver could read another text
 */
export function bodyText(fields: HeaderPairs, bytes: Uint8Array): string | undefined {
  const isEncoded = fields.some(
    ([name, value]) =>
      (name === 'content-type' && OTHER_CHARSET.test(value)) ||
      (name === 'content-encoding' && value.toLowerCase() !== 'identity'),
  );
  if (isEncoded) return undefined;
  try {
    return inLines(decoder.decode(bytes));
  } catch {
    return undefined;
  }
}

function inLines(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}
