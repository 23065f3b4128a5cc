import { expect, it } from 'vitest';
import { compileGeoRestrict, isCountry } from './geo-restrict.ts';

it.each([
  ['allow', 'DE', true],
  ['allow', 'FR', false],
  ['allow', undefined, false],
  ['deny', 'DE', false],
  ['deny', 'FR', true],
  ['deny', undefined, true],
] as const)('geo_restrict with %s of DE and NL allows %s: %s', (mode, country, expected) => {
  expect(compileGeoRestrict({ mode, countries: ['DE', 'NL'] })(country)).toBe(expected);
});

it('isCountry accepts the 249 codes that ISO 3166-1 assigns, each of which has a name', () => {
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at));
  const codes = letters.flatMap((first) => letters.map((second) => first + second)).filter(isCountry);
  expect(codes).toHaveLength(249);
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  for (const code of codes) expect([code, names.of(code)]).toEqual([code, expect.any(String)]);
});

it.each(['de', 'DEU', 'EU', 'UK', 'XX', 'ZZ', 'SU', 'AA', '', '49', 'D'])('isCountry rejects %j', (code) => {
  expect(isCountry(code)).toBe(false);
});
