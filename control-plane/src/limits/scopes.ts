import type { QuotaScope } from '../core/quotas.ts';

/**
 * The specification's "Limits", row by row. Every counter of this service is a row here; the penalty box and the account's
 * aggregate have kernels of their own (`penalty-box.ts`, `aggregate.ts`).
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How often something may happen within a window that begins with the first time. */
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

/** Specification, "Account-wide"; `user_aggregate` is a formula and stands in `aggregate.ts`. */
const PER_ACCOUNT = {
  account_export: { limit: 5, windowMs: HOUR },
  setup_step: { limit: 30, windowMs: DAY },
} as const satisfies Record<string, ScopeLimit>;

/** Ours, per person of an account: requests that make or change something, deleting aside. */
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
  /** Ours, not the specification's: guesses of a local account's password. */
  password_login: { limit: 20, windowMs: HOUR },
  /** Ours: each one-time link that is used. */
  link_login: { limit: 60, windowMs: HOUR },
  /** Ours: each costs the identity provider a call. */
  oidc_callback: { limit: 300, windowMs: HOUR },
} as const satisfies Record<string, ScopeLimit>;

export const SCOPES = { ...PER_ENTITY, ...PER_ACCOUNT, ...PER_PERSON, ...PER_ADDRESS } as const;

export type CountedScope = keyof typeof SCOPES;

/** Counted per account. */
export type AccountScope = keyof typeof PER_ACCOUNT;

/** Counted per address, on endpoints that ask for no credentials. */
export type AddressScope = keyof typeof PER_ADDRESS;

/** Counted per thing of an account that a management request names. */
export type TargetScope = 'key_reveal' | 'token_refresh';

/** Whether a scope counts addresses, of which there is no end, and not callers that we know. */
export const isAddressScope = (scope: string): scope is AddressScope => Object.hasOwn(PER_ADDRESS, scope);

/** Scopes whose excess is a strike (specification, "Pipeline order for credential access"). */
export type FloorScope = 'agent_credentials' | 'proxy_mcp';

/** Every name that a setting `SV_LIMIT_<SCOPE>` may carry. */
export type LimitScope = CountedScope | QuotaScope | 'user_aggregate';
