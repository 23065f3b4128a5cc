import type { QuotaScope } from '../core/quotas.ts';

/** The specification's "Limits", row by row. Each counter of the control plane is a row; the penalty box is in `kernel.ts`. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** So many uses within a window that begins with the first of them. */
export interface ScopeLimit {
  readonly limit: number;
  readonly windowMs: number;
}

/** Specification, "Per-entity floors". */
const PER_ENTITY = {
  agent_credentials: { limit: 60, windowMs: MINUTE },
  proxy_mcp: { limit: 300, windowMs: MINUTE },
  token_refresh: { limit: 10, windowMs: HOUR },
  agent_no_grant: { limit: 10, windowMs: MINUTE },
  mcp_handshake: { limit: 120, windowMs: MINUTE },
  key_reveal: { limit: 20, windowMs: HOUR },
  credential_history: { limit: 20, windowMs: MINUTE },
} as const satisfies Record<string, ScopeLimit>;

/** Specification, "Account-wide", without {@link aggregateLimit}. */
const PER_ACCOUNT = {
  account_export: { limit: 5, windowMs: HOUR },
  setup_step: { limit: 30, windowMs: DAY },
} as const satisfies Record<string, ScopeLimit>;

/** Not in the specification: management requests that create or change something, per member. */
const PER_PERSON = {
  management_write: { limit: 600, windowMs: MINUTE },
} as const satisfies Record<string, ScopeLimit>;

/** Specification, "Per IP, unauthenticated endpoints". */
const PER_ADDRESS = {
  oauth_register: { limit: 30, windowMs: HOUR },
  oauth_authorize: { limit: 30, windowMs: HOUR },
  /** Per address and client id. */
  oauth_token: { limit: 60, windowMs: HOUR },
  oauth_revoke: { limit: 60, windowMs: HOUR },
  oauth_introspect: { limit: 600, windowMs: MINUTE },
  cli_login_begin: { limit: 20, windowMs: HOUR },
  cli_login_exchange: { limit: 30, windowMs: HOUR },
  cli_login_refresh: { limit: 600, windowMs: HOUR },
  /** Not in the specification: guesses of a local account's password. */
  password_login: { limit: 20, windowMs: HOUR },
  /** Not in the specification: uses of one-time links. */
  link_login: { limit: 60, windowMs: HOUR },
  /** Not in the specification: each costs a call to the identity provider. */
  oidc_callback: { limit: 300, windowMs: HOUR },
} as const satisfies Record<string, ScopeLimit>;

export const SCOPES = { ...PER_ENTITY, ...PER_ACCOUNT, ...PER_PERSON, ...PER_ADDRESS } as const;

export type CountedScope = keyof typeof SCOPES;

/** Counted per account. */
export type AccountScope = keyof typeof PER_ACCOUNT;

/** Counted per principal. */
export type PrincipalScope = keyof typeof PER_PERSON;

/** Counted per agent or proxy. */
export type CallerScope = Exclude<keyof typeof PER_ENTITY, 'token_refresh'>;

/** Counted per address, at endpoints without authentication. */
export type AddressScope = keyof typeof PER_ADDRESS;

/** Counted per agent, proxy or token that a management request names. */
export type TargetScope = 'key_reveal' | 'token_refresh';

/** Whether a scope counts addresses, whose number has no bound, instead of known callers. */
export const isAddressScope = (scope: string): scope is AddressScope => Object.hasOwn(PER_ADDRESS, scope);

/** Scopes whose excess is a strike (specification, "Pipeline order for credential access"). */
export type FloorScope = 'agent_credentials' | 'proxy_mcp';

/** The names that a setting `SV_LIMIT_<SCOPE>` may have. */
export type LimitScope = CountedScope | QuotaScope | 'user_aggregate';

/** Specification, "Account-wide": `clamp(ceil(1.5 x (60 x active_agents + 300 x proxies)), 600, 3000)` per minute. */
const MIN_PER_MINUTE = 600;
const MAX_PER_MINUTE = 3_000;
export const AGGREGATE_WINDOW_MS = MINUTE;

/** So many agents, or proxies, alone reach the maximum: counting more of them changes nothing. */
export const MAX_AGENTS_COUNTED = Math.ceil(MAX_PER_MINUTE / (1.5 * 60));
export const MAX_PROXIES_COUNTED = Math.ceil(MAX_PER_MINUTE / (1.5 * 300));

/** @returns requests per minute of all agents and proxies of the account together */
export function aggregateLimit(account: { readonly activeAgents: number; readonly proxies: number }): number {
  const scaled = Math.ceil(1.5 * (60 * account.activeAgents + 300 * account.proxies));
  return Math.min(Math.max(scaled, MIN_PER_MINUTE), MAX_PER_MINUTE);
}
