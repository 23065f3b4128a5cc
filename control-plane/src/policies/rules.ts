import type { Address } from '@svault/shared/egress';
import { type HttpRequest, type RequestRules, compileRequestRules } from '@svault/shared/request-rules';
import * as z from 'zod';
import {
  MAX_RULES_TEXT,
  type ManualApprovalSettings,
  type MaxUsageSettings,
  type RateLimitSettings,
  type RuleSettings,
  type RuleType,
  type TargetType,
} from '../core/policy.ts';
import { compileGeoRestrict, geoRestrictMembers } from './geo-restrict.ts';
import { MAX_CIDRS_OF_POLICY, compileIpAllowlist, ipAllowlistMembers } from './ip-allowlist.ts';
import { requestFilterMembers } from './request-filter.ts';
import { compileTimeWindow, timeWindowMembers } from './time-window.ts';

/** What the rules look at. Each fact is computed when a rule first needs it. */
export interface RequestFacts {
  readonly nowMs: number;
  /** IPv4-mapped addresses as IPv4; undefined where it is not known. */
  address(): Address | undefined;
  country(): string | undefined;
  readonly caller: 'agent' | 'proxy';
  /** What a proxy would send; undefined where it is not known, and for an agent. */
  request(): HttpRequest | undefined;
  /** Uses of a `max_usage` rule at a target so far. */
  used(target: TargetType, ruleId: string): number;
}

/** How a rule decides: by the circumstances of a request, by what it asks, by its uses of a lifetime, by people, or by the limiter. */
export type CompiledSettings =
  | { readonly kind: 'condition'; readonly allows: (facts: RequestFacts) => boolean }
  | { readonly kind: 'filter'; readonly rules: RequestRules }
  | { readonly kind: 'lifetime'; readonly settings: MaxUsageSettings }
  | { readonly kind: 'approval'; readonly settings: ManualApprovalSettings }
  | { readonly kind: 'rate'; readonly settings: RateLimitSettings };

interface RuleDefinition<T extends RuleType> {
  /** The settings as an owner writes them. */
  readonly schema: z.ZodType<RuleSettings<T>>;
  readonly compile: (settings: RuleSettings<T>) => CompiledSettings;
  /**
   * The reason that a denied agent gets: enough to know whether to retry, and nothing of the settings (specification,
   * `whoami`: never a policy's rule configuration). A filter says more of the request.
   */
  readonly reason: string;
}

const MAX_RULES = 20;
const MAX_REQUESTS = 1_000_000;
const MAX_WINDOW_S = 30 * 24 * 3_600;
const MAX_USES = 1_000_000_000;
const MAX_APPROVED_USES = 100;
const VALIDITY = 'must be a whole number of seconds from 300 to 86400';

const numberUpTo = (max: number): z.ZodInt => {
  const error = `must be a whole number from 1 to ${max}`;
  return z.int({ error }).min(1, { error }).max(max, { error });
};

const condition = <Fact>(
  allows: (fact: Fact) => boolean,
  factOf: (facts: RequestFacts) => Fact,
): CompiledSettings => ({ kind: 'condition', allows: (facts) => allows(factOf(facts)) });

/** Everything about each type of rule. */
export const RULES = {
  time_window: {
    schema: z.strictObject({ type: z.literal('time_window'), ...timeWindowMembers }),
    compile: (settings) => condition(compileTimeWindow(settings), ({ nowMs }) => nowMs),
    reason: 'It is not available at this time.',
  },
  ip_allowlist: {
    schema: z.strictObject({ type: z.literal('ip_allowlist'), ...ipAllowlistMembers }),
    compile: (settings) => condition(compileIpAllowlist(settings), (facts) => facts.address()),
    reason: 'It is not available from this network address.',
  },
  geo_restrict: {
    schema: z.strictObject({ type: z.literal('geo_restrict'), ...geoRestrictMembers }),
    compile: (settings) => condition(compileGeoRestrict(settings), (facts) => facts.country()),
    reason: 'It is not available from this location.',
  },
  rate_limit: {
    schema: z.strictObject({
      type: z.literal('rate_limit'),
      limit: numberUpTo(MAX_REQUESTS),
      windowSeconds: numberUpTo(MAX_WINDOW_S),
    }),
    compile: (settings) => ({ kind: 'rate', settings }),
    reason: 'Rate limit exceeded; try again later.',
  },
  max_usage: {
    schema: z.strictObject({ type: z.literal('max_usage'), limit: numberUpTo(MAX_USES) }),
    compile: (settings) => ({ kind: 'lifetime', settings }),
    reason: 'It was used as often as it may be.',
  },
  manual_approval: {
    schema: z.strictObject({
      type: z.literal('manual_approval'),
      expiresInSeconds: z
        .int({ error: VALIDITY })
        .min(300, { error: VALIDITY })
        .max(86_400, { error: VALIDITY })
        .optional(),
      uses: numberUpTo(MAX_APPROVED_USES).optional(),
    }),
    compile: (settings) => ({ kind: 'approval', settings }),
    reason: 'It needs an approval.',
  },
  request_filter: {
    schema: z.strictObject({ type: z.literal('request_filter'), ...requestFilterMembers }),
    compile: ({ requests }) => ({ kind: 'filter', rules: compileRequestRules(requests) }),
    reason: 'It is not available for this request.',
  },
} as const satisfies { readonly [T in RuleType]: RuleDefinition<T> };

/** @throws RangeError for settings that the schema rejects */
export function compileSettings<T extends RuleType>(rule: RuleSettings<T>): CompiledSettings {
  const definitions: { readonly [K in RuleType]: RuleDefinition<K> } = RULES;
  return definitions[rule.type].compile(rule);
}

const { time_window: first, ...others } = RULES;

export const ruleSchema = z
  .discriminatedUnion('type', [first.schema, ...Object.values(others).map(({ schema }) => schema)])
  .meta({ id: 'PolicyRule' });

export const rulesSchema = z
  .array(ruleSchema)
  .min(1, 'must have a rule')
  .max(MAX_RULES)
  .refine(
    (rules) => JSON.stringify(rules).length <= MAX_RULES_TEXT,
    `must be at most ${MAX_RULES_TEXT} characters of JSON`,
  )
  .refine(
    (rules) =>
      rules.flatMap((rule) => (rule.type === 'ip_allowlist' ? rule.cidrs : [])).length <= MAX_CIDRS_OF_POLICY,
    `must hold at most ${MAX_CIDRS_OF_POLICY} networks together`,
  );
