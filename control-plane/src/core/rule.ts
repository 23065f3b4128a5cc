import type { Id } from '@svault/shared';
import type { RuleType } from '../policies/policy-verdict.ts';
import type { GeoRestrictSettings } from '../policies/geo-restrict.ts';
import type { IpAllowlistSettings } from '../policies/ip-allowlist.ts';
import type { MaxUsageSettings } from '../policies/max-usage.ts';
import type { RateLimitSettings } from '../policies/rate-limit.ts';
import type { TimeWindowSettings } from '../policies/time-window.ts';

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
