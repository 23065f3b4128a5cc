import { type Address, canonicalAddress, parseAddress } from '@svault/shared/egress';
import type { CountryOf } from './geo-database.ts';

/** What conditions look at; address and country are worked out where a rule asks for them. */
export interface RequestFacts {
  readonly nowMs: number;
  /** IPv4-mapped addresses as IPv4; undefined where it is not known. */
  address(): Address | undefined;
  country(): string | undefined;
}

/** @param sourceAddress the caller's IP address, where it is known */
export function requestFacts(
  { nowMs, sourceAddress }: { readonly nowMs: number; readonly sourceAddress: string | undefined },
  countryOf: CountryOf,
): RequestFacts {
  const address = (): Address | undefined =>
    sourceAddress === undefined ? undefined : parseAddress(sourceAddress);
  return {
    nowMs,
    address,
    country: () => {
      const known = address();
      return known === undefined ? undefined : countryOf(known);
    },
  };
}

/** Whether a text is an IP address in its usual notation. */
export const isAddress = (text: string): boolean => canonicalAddress(text) !== undefined;
