import { readFile } from 'node:fs/promises';
import type { Reader, Response } from 'mmdb-lib';
import { type Address, parseAddress } from '@svault/shared/egress';

/** The country of an address, ISO 3166-1 alpha-2; undefined where it is not known. */
export type CountryOf = (address: Address) => string | undefined;

/** The file of `SV_GEOIP_DB` is not a database of countries. */
class UnusableGeoDatabase extends Error {
  constructor(path: string, problem: string, options?: ErrorOptions) {
    super(`SV_GEOIP_DB: ${path} ${problem}`, options);
    this.name = 'UnusableGeoDatabase';
  }
}

/**
 * Reads a database of countries in MaxMind's MMDB format into memory. Without one no country is known.
 *
 * @param path of `SV_GEOIP_DB`
 * @throws UnusableGeoDatabase for a file that cannot be read, is not an MMDB file, or has no countries
 */
export async function readGeoDatabase(path: string | undefined): Promise<CountryOf> {
  if (path === undefined) return () => undefined;
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new UnusableGeoDatabase(path, 'cannot be read', { cause });
  });
  const { Reader } = await import('mmdb-lib');
  let hasCountries: boolean;
  let countryOf: CountryOf;
  try {
    countryOf = createCountryOf(new Reader<Response>(bytes));
    hasCountries = SAMPLES.some((address) => countryOf(address) !== undefined);
  } catch (cause) {
    throw new UnusableGeoDatabase(path, 'is not an MMDB file, or is damaged', { cause });
  }
  // With a database of networks or time zones, a rule with `deny` would deny nobody.
  if (!hasCountries) throw new UnusableGeoDatabase(path, 'has no countries');
  return countryOf;
}

function createCountryOf(reader: Reader<Response>): CountryOf {
  const { ipVersion } = reader.metadata;
  return (address) => {
    // Private, loopback and reserved addresses are in no country, even if the file names one.
    if (address.range() !== 'unicast') return undefined;
    // In a tree of IPv4 addresses an IPv6 one would be looked up by its first 32 bits.
    if (ipVersion === 4 && address.kind() === 'ipv6') return undefined;
    return countryIn(reader.get(address.toString()));
  };
}

/** In the format of MaxMind and DB-IP (`country.iso_code`), ip-location-db (`country_code`) or IPinfo (`country`). */
function countryIn(record: unknown): string | undefined {
  const { country, country_code: flat } = (record ?? {}) as {
    readonly country?: unknown;
    readonly country_code?: unknown;
  };
  const nested = (country as { readonly iso_code?: unknown } | null | undefined)?.iso_code;
  return [nested, flat, country].find(
    (value): value is string => typeof value === 'string' && /^[A-Z]{2}$/.test(value),
  );
}

/** Addresses from all over the internet: a database of countries knows most of them. */
const SAMPLES: readonly Address[] = Array.from({ length: 222 }, (_, index) => index + 1)
  .flatMap((first) => [`${first}.1.1.1`, `${first}.100.1.1`, `${first}.200.1.1`])
  .concat(['2001:4860::1', '2400:cb00::1', '2600::1', '2804::1', '2a00:1450::1', '2c0f::1'])
  .flatMap((text) => parseAddress(text) ?? []);
