import type { Id } from '@svault/shared';

/** What an owner sets for a rule (contract.md, "Rule settings"). */
export type RuleSettings =
  | ({ readonly type: 'time_window' } & TimeWindowSettings)
  | ({ readonly type: 'ip_allowlist' } & IpAllowlistSettings)
  | ({ readonly type: 'geo_restrict' } & GeoRestrictSettings)
  | ({ readonly type: 'rate_limit' } & RateLimitSettings)
  | ({ readonly type: 'max_usage' } & MaxUsageSettings)
  | { readonly type: 'manual_approval' };

/** A rule as it is stored. Its counts belong to its id, which therefore outlives a change of its settings. */
export type Rule = RuleSettings & { readonly id: Id<'rul'> };

/**
 * Gives changed rules their ids: the n-th rule of a type keeps the id of the n-th one before, and with it what was counted.
 *
 * @param makeId for rules that are new
 */
export function withRuleIds(
  settings: readonly RuleSettings[],
  before: readonly Rule[],
  makeId: () => Id<'rul'>,
): Rule[] {
  const left = new Map<RuleType, Id<'rul'>[]>();
  for (const { type, id } of before) left.set(type, [...(left.get(type) ?? []), id]);
  return settings.map((rule) => ({ id: left.get(rule.type)?.shift() ?? makeId(), ...rule }));
}

export interface GeoRestrictSettings {
  readonly mode: 'allow' | 'deny';
  /** ISO 3166-1 alpha-2, upper case. */
  readonly countries: readonly string[];
}

export interface IpAllowlistSettings {
  /** Networks (`10.0.0.0/8`, `2001:db8::/32`) and single addresses. */
  readonly cidrs: readonly string[];
}

export interface MaxUsageSettings {
  /** How many accesses there may be in all. */
  readonly limit: number;
}

export interface RateLimitSettings {
  /** Requests within a window that begins with the first of them. */
  readonly limit: number;
  readonly windowSeconds: number;
}

export interface TimeWindowSettings {
  /** An IANA zone. */
  readonly timezone: string;
  readonly windows: readonly TimeWindow[];
}

export interface TimeWindow {
  /** Monday is 1, Sunday 7: the days on which the window begins. */
  readonly days: readonly number[];
  /** `HH:MM`, within the window. */
  readonly start: string;
  /** `HH:MM`, no longer within it; before `start` it is the next day's. */
  readonly end: string;
}

/** The specification's rule types, "ABAC policy". */
export const RULE_TYPES = [
  'time_window',
  'ip_allowlist',
  'geo_restrict',
  'rate_limit',
  'max_usage',
  'manual_approval',
] as const;
export type RuleType = (typeof RULE_TYPES)[number];
