import { type Address, canonicalAddress, parseAddress } from '@svault/shared/egress';
import type { CountryOf } from './geo-database.ts';
import type { PolicyInput, TargetType } from '../core/policy.ts';

/** What rules look at; each is worked out where a rule asks for it, and once for all rules that do. */
export interface RequestFacts {
  readonly nowMs: number;
  /** IPv4-mapped addresses as IPv4; undefined where it is not known. */
  address(): Address | undefined;
  country(): string | undefined;
  /** How often a `max_usage` rule was used at a target so far. */
  used(target: TargetType, ruleId: string): number;
}

export function requestFacts(
  { nowMs, sourceAddress, usage }: Pick<PolicyInput, 'nowMs' | 'sourceAddress' | 'usage'>,
  countryOf: CountryOf,
): RequestFacts {
  const address = once(() => (sourceAddress === undefined ? undefined : parseAddress(sourceAddress)));
  const country = once(() => {
    const known = address();
    return known === undefined ? undefined : countryOf(known);
  });
  const counts = once(() => JSON.parse(usage ?? '{}') as Readonly<Record<string, number>>);
  return { nowMs, address, country, used: (target, ruleId) => counts()[`${target} ${ruleId}`] ?? 0 };
}

function once<T>(work: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: work() }).value;
}

/** Whether a text is an IP address in its usual notation. */
export const isAddress = (text: string): boolean => canonicalAddress(text) !== undefined;
