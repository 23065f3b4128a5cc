import { readFile } from 'node:fs/promises';
import type { Reader, Response } from 'mmdb-lib';
import { type Address, parseAddress } from '@svault/shared/egress';

/** The country of an address, ISO 3166-1 alpha-2; undefined where it cannot be told. */
export type CountryOf = (address: Address) => string | undefined;

/** The file of `SV_GEOIP_DB` is none that tells countries. */
class UnusableGeoDatabase extends Error {
  constructor(path: string, problem: string, options?: ErrorOptions) {
    super(`SV_GEOIP_DB: ${path} ${problem}`, options);
    this.name = 'UnusableGeoDatabase';
  }
}

/**
 * Reads a database of countries in MaxMind's MMDB format, once and whole. Without one nothing can be told.
 *
 * @param path of `SV_GEOIP_DB`
 * @throws UnusableGeoDatabase for a file that cannot be read, is no such database, or tells no countries
 */
export async function readGeoDatabase(path: string | undefined): Promise<CountryOf> {
  if (path === undefined) return () => undefined;
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new UnusableGeoDatabase(path, 'cannot be read', { cause });
  });
  const { Reader } = await import('mmdb-lib');
  let tellsCountries: boolean;
  let countryOf: CountryOf;
  try {
    countryOf = createCountryOf(new Reader<Response>(bytes));
    tellsCountries = SAMPLES.some((address) => countryOf(address) !== undefined);
  } catch (cause) {
    throw new UnusableGeoDatabase(path, 'is no MMDB file, or a damaged one', { cause });
  }
  // One of networks or time zones would refuse nobody where a rule says `deny`.
  if (!tellsCountries) throw new UnusableGeoDatabase(path, 'tells no countries');
  return countryOf;
}

function createCountryOf(reader: Reader<Response>): CountryOf {
  const { ipVersion } = reader.metadata;
  return (address) => {
    // Private, loopback and reserved addresses are in no country, whatever the file says.
    if (address.range() !== 'unicast') return undefined;
    // In a tree of IPv4 addresses an IPv6 one would be looked up by its first 32 bits.
    if (ipVersion === 4 && address.kind() === 'ipv6') return undefined;
    return countryIn(reader.get(address.toString()));
  };
}

/** As MaxMind and DB-IP (`country.iso_code`), ip-location-db (`country_code`) and IPinfo (`country`) write it. */
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

/** Addresses all over the internet: a database of countries knows most of them. */
const SAMPLES: readonly Address[] = Array.from({ length: 222 }, (_, index) => index + 1)
  .flatMap((first) => [`${first}.1.1.1`, `${first}.100.1.1`, `${first}.200.1.1`])
  .concat(['2001:4860::1', '2400:cb00::1', '2600::1', '2804::1', '2a00:1450::1', '2c0f::1'])
  .flatMap((text) => parseAddress(text) ?? []);
