import { countryName } from './rule-words.ts';

/** Codes that browsers have names for and ISO 3166-1 does not assign to a country. */
const NOT_ASSIGNED = new Set('AC CP CQ DG EA EU EZ IC QO TA UN XA XB XK ZZ'.split(' '));

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');

/** Code and name of each country, by name. */
export const COUNTRIES: readonly (readonly [code: string, name: string])[] = LETTERS.flatMap((first) =>
  LETTERS.map((second) => first + second),
)
  .filter((code) => !NOT_ASSIGNED.has(code) && countryName(code) !== code && !isFormer(code))
  .map((code) => [code, countryName(code)] as const)
  .toSorted(([, a], [, b]) => a.localeCompare(b, 'en'));

/** Whether a code gave way to another one: `DD` is Germany's now. */
function isFormer(code: string): boolean {
  return Intl.getCanonicalLocales(`und-${code}`)[0] !== `und-${code}`;
}

const BY_TEXT = new Map(
  COUNTRIES.flatMap(([code, name]) => [
    [code.toLowerCase(), code],
    [name.toLowerCase(), code],
  ]),
);

/** The code that a person means by a code or a name. */
export const countryIn = (text: string): string | undefined => BY_TEXT.get(text.trim().toLowerCase());
