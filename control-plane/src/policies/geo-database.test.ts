import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseAddress } from '@svault/shared/egress';
import { afterAll, describe, expect, it } from 'vitest';
import { type CountryOf, readGeoDatabase } from './geo-database.ts';

const require = createRequire(import.meta.url);
const packaged = dirname(require.resolve('@ip-location-db/geo-whois-asn-country-mmdb/package.json'));
const bothKinds = join(packaged, 'geo-whois-asn-country.mmdb');
const onlyIPv4 = join(packaged, 'geo-whois-asn-country-ipv4.mmdb');
const folder = mkdtempSync(join(tmpdir(), 'svault-geo-'));
afterAll(() => rmSync(folder, { recursive: true }));

const written = (name: string, bytes: Uint8Array | string): string => {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
};

const countryAt = (countryOf: CountryOf, text: string): string | undefined => {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${text} is no address`);
  return countryOf(address);
};

describe('a database of countries', async () => {
  const countryOf = await readGeoDatabase(bothKinds);

  it.each([
    ['193.0.6.139', 'NL'],
    ['::ffff:193.0.6.139', 'NL'],
    ['2001:67c:2e8::1', 'NL'],
    ['8.8.8.8', 'US'],
  ])('%s is in %s', (address, country) => {
    expect(countryAt(countryOf, address)).toBe(country);
  });

  it.each(['10.0.0.1', '192.168.1.1', '127.0.0.1', '::1', 'fd00::1', 'fe80::1', '0.0.0.0', '224.0.0.1'])(
    '%s is in no country',
    (address) => {
      expect(countryAt(countryOf, address)).toBeUndefined();
    },
  );
});

it('a database of IPv4 addresses knows no country of an IPv6 address', async () => {
  const countryOf = await readGeoDatabase(onlyIPv4);
  expect(countryAt(countryOf, '193.0.6.139')).toBe('NL');
  // Their first bits are those of 32.1.6.124, 42.0.20.80 and 38.0.0.0, of which the file knows countries.
  for (const address of ['2001:67c:2e8::1', '2a00:1450::1', '2600::1'])
    expect(countryAt(countryOf, address)).toBeUndefined();
});

it('without a database no country is known', async () => {
  expect(countryAt(await readGeoDatabase(undefined), '8.8.8.8')).toBeUndefined();
});

/** The name of the member that holds a country, in the file's one record form, replaced by one of the same length. */
function withoutCountries(): Buffer {
  const bytes = readFileSync(onlyIPv4);
  const name = Buffer.from('country_code');
  for (let at = bytes.indexOf(name); at !== -1; at = bytes.indexOf(name, at)) bytes.write('network_code', at);
  return bytes;
}

describe('SV_GEOIP_DB rejects, with its path,', () => {
  it.each([
    ['a file that is not there', () => join(folder, 'missing.mmdb'), 'cannot be read'],
    ['a folder', () => folder, 'cannot be read'],
    ['an empty file', () => written('empty', ''), 'not an MMDB file'],
    ['text', () => written('text', 'hello'.repeat(1_000)), 'not an MMDB file'],
    [
      'a file that was cut off',
      () => written('cut', readFileSync(onlyIPv4).subarray(0, 100_000)),
      'not an MMDB file',
    ],
    ['a database of something else', () => written('other', withoutCountries()), 'has no countries'],
  ])('%s', async (_what, path, problem) => {
    const refused = readGeoDatabase(path());
    await expect(refused).rejects.toMatchObject({ name: 'UnusableGeoDatabase' });
    await expect(refused).rejects.toThrow(problem);
    await expect(refused).rejects.toThrow(path());
  });
});
