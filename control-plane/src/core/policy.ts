import type { Id } from '@svault/shared';
import type { HttpRequest, RequestRule } from '@svault/shared/request-rules';
import type { NamedPageRequest, Page, PageRequest } from './paging.ts';

/** Specification, "ABAC policy". */
export interface Policy {
  readonly id: Id<'pol'>;
  readonly vaultId: Id<'vlt'>;
  readonly name: string;
  readonly enabled: boolean;
  readonly rules: readonly Rule[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What a policy may be attached to. */
export const TARGET_TYPES = ['agent', 'proxy', 'token'] as const;
export type TargetType = (typeof TARGET_TYPES)[number];

export interface PolicyTarget {
  readonly type: TargetType;
  /** Of a token: its service name. */
  readonly id: string;
}

/** Bounds of what is read and evaluated with each request. */
export const MAX_POLICIES_OF_TARGET = 10;
export const MAX_RULES_TEXT = 16_384;

interface SettingsByType {
  readonly time_window: TimeWindowSettings;
  readonly ip_allowlist: IpAllowlistSettings;
  readonly geo_restrict: GeoRestrictSettings;
  readonly rate_limit: RateLimitSettings;
  readonly max_usage: MaxUsageSettings;
  readonly manual_approval: ManualApprovalSettings;
  readonly request_filter: RequestFilterSettings;
}
export type RuleType = keyof SettingsByType;

/** The settings of a rule of these types. */
export type RuleSettings<T extends RuleType = RuleType> = {
  readonly [K in T]: { readonly type: K } & SettingsByType[K];
}[T];

export interface TimeWindowSettings {
  /** An IANA zone. */
  readonly timezone: string;
  readonly windows: readonly TimeWindow[];
}

export interface TimeWindow {
  /** The days on which the window begins: Monday is 1, Sunday 7. */
  readonly days: readonly number[];
  /** `HH:MM`, inclusive. */
  readonly start: string;
  /** `HH:MM`, exclusive; before `start` it is on the next day. */
  readonly end: string;
}

export interface IpAllowlistSettings {
  /** Networks (`10.0.0.0/8`, `2001:db8::/32`) and single addresses. */
  readonly cidrs: readonly string[];
}

export interface GeoRestrictSettings {
  readonly mode: 'allow' | 'deny';
  /** ISO 3166-1 alpha-2, upper case. */
  readonly countries: readonly string[];
}

export interface RateLimitSettings {
  /** Requests within a window that begins with the first of them. */
  readonly limit: number;
  readonly windowSeconds: number;
}

export interface MaxUsageSettings {
  /** Accesses in all. */
  readonly limit: number;
}

export interface ManualApprovalSettings {
  /** How long an approval may be used once it is given; absent: an hour. */
  readonly expiresInSeconds?: number | undefined;
  /** How often; absent: once. */
  readonly uses?: number | undefined;
}

export interface RequestFilterSettings {
  /** Of which one has to match a proxied request whole (PROTOCOL.md section 5.7). */
  readonly requests: readonly RequestRule[];
}

/** A rule as it is stored. Its counts belong to its id, so the id survives a change of the settings. */
export type Rule = RuleSettings & { readonly id: Id<'rul'> };

/**
 * Gives changed rules their ids: the n-th rule of a type keeps the id of the n-th one before, and its counts with it.
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

/** The rule that denied and its reason; the members of the denial's body. */
export interface PolicyDenial {
  /** The policy's name. */
  readonly policy: string;
  readonly rule: RuleType;
  readonly reason: string;
}

/** One use of a `max_usage` rule, or of an approval, counted in the transaction that records the access. */
export interface LifetimeUse {
  /** Of an approval: its id. */
  readonly ruleId: string;
  readonly targetType: TargetType;
  readonly targetId: string;
  readonly limit: number;
}

/** The input of an evaluation. */
export interface PolicyInput {
  /**
   * The enabled policies of the agent or proxy and of the token, as the store reads them with the subject; null where there
   * are none: `[{"target":"agent","id":"pol_…","name":"…","rules":[…]}]`, rules as they are stored, in any order. Compiled
   * once for each text.
   */
  readonly policies: string | null;
  /**
   * The counts of `max_usage` rules at these targets, as the store reads them; null where there are none: `{"agent rul_…":3}`.
   * Rules of disabled policies may be among them.
   */
  readonly usage: string | null;
  readonly caller: { readonly type: 'agent' | 'proxy'; readonly id: string };
  /** The token that the caller asks for; `''` where it asks for none. */
  readonly serviceName: string;
  /** The caller's IP address, if known. */
  readonly sourceAddress: string | undefined;
  readonly nowMs: number;
  /**
   * What a proxy would send to its upstream, asked for where a rule looks at it; undefined where it is not known. An agent
   * sends nothing: it gets the credential itself.
   */
  readonly upstreamRequest: (() => HttpRequest) | undefined;
}

/** A target of a policy, with the uses that its `max_usage` rules counted there, by the rule's id. */
export interface AttachedTarget extends PolicyTarget {
  readonly used: ReadonlyMap<string, number>;
}

/** An enabled policy at one of its targets. */
export interface EnabledPolicy {
  readonly target: TargetType;
  readonly targetId: string;
  readonly id: Id<'pol'>;
  readonly name: string;
  readonly rules: readonly RuleType[];
}

/**
 * Policies, their attachments, and the counts of their `max_usage` rules. Every change raises the vault's policy revision,
 * so that no access is recorded on an evaluation of the former policies.
 */
export interface PolicyStore {
  add(policy: Policy): Promise<void>;
  get(vaultId: Id<'vlt'>, id: string): Promise<Policy | undefined>;
  /** Oldest first. @param target only those attached to it; undefined: all */
  list(vaultId: Id<'vlt'>, target: PolicyTarget | undefined, page: NamedPageRequest): Promise<Page<Policy>>;
  /** Writes name, `enabled` and rules, and drops the counts of removed rules. */
  update(before: Policy, after: Policy): Promise<void>;
  /** With its attachments and counts. @returns how many attachments it had */
  remove(policy: Policy): Promise<number>;

  /** @returns false, and changes nothing, where it is attached there already */
  attach(policy: Policy, target: PolicyTarget): Promise<boolean>;
  /** With the counts of its rules there. @returns false, and changes nothing, where it is not attached there */
  detach(policy: Policy, target: PolicyTarget): Promise<boolean>;
  /** All policies of a target, with the counts there. @returns their ids */
  detachAll(vaultId: Id<'vlt'>, target: PolicyTarget): Promise<readonly Id<'pol'>[]>;
  /** By type and id. */
  attachments(policyId: Id<'pol'>, page: PageRequest): Promise<Page<PolicyTarget>>;
  /** How many attachments each of these policies has. Stops counting at `upTo`; without those that have none. */
  attachmentCounts(policyIds: readonly Id<'pol'>[], upTo: number): Promise<ReadonlyMap<Id<'pol'>, number>>;
  countOf(vaultId: Id<'vlt'>, target: PolicyTarget): Promise<number>;
  /** Of these targets those that a policy is attached to, in no order. */
  attachedAmong(policy: Policy, targets: readonly PolicyTarget[]): Promise<readonly AttachedTarget[]>;
  /** The enabled policies of targets of one type, in any order; rules by their types alone. */
  enabledAt(
    vaultId: Id<'vlt'>,
    type: TargetType,
    targetIds: readonly string[],
  ): Promise<readonly EnabledPolicy[]>;

  /** The policies and counts that a request of this caller for this service is evaluated with. */
  inputOf(
    vaultId: Id<'vlt'>,
    caller: PolicyInput['caller'],
    serviceName: string,
  ): Promise<Pick<PolicyInput, 'policies' | 'usage'>>;
}
