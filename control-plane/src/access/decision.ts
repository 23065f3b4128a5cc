import type { ErrorCode } from '../errors.ts';
import type { PolicyDenial } from '../policies/policy-verdict.ts';
import type { ListedGrant } from './access-store.ts';

/** Denials that say nothing beyond their code. */
const PLAIN_CODES = [
  'MISSING_KEY',
  'INVALID_KEY',
  'AGENT_INACTIVE',
  'INVALID_SERVICE',
  'VAULT_LOCKED',
  'NO_GRANT',
  'GRANT_EXPIRED',
  'WEBHOOK_NOT_CONFIGURED',
] as const satisfies readonly ErrorCode[];
export type PlainDenialCode = (typeof PLAIN_CODES)[number];

/** Why a request gets nothing. A value and not an exception: being refused is an ordinary answer, and a cheap one. */
export type Denial =
  | { readonly code: PlainDenialCode }
  | { readonly code: 'RATE_LIMITED' | 'WEBHOOK_UNAVAILABLE'; readonly retryAfterSeconds: number }
  /** `retryAfterSeconds` only, and always, where `rule` is `rate_limit`. */
  | ({ readonly code: 'POLICY_DENIED'; readonly retryAfterSeconds?: number } & PolicyDenial);

export type Decision =
  | { readonly outcome: 'denied'; readonly denial: Denial }
  /** `url` works once; `expiresAt` in epoch ms. */
  | { readonly outcome: 'ticket'; readonly url: string; readonly expiresAt: number }
  | { readonly outcome: 'grants'; readonly grants: readonly ListedGrant[] };

/** Made once: a denial without particulars is the same value each time. */
const PLAIN: ReadonlyMap<PlainDenialCode, Denial> = new Map(PLAIN_CODES.map((code) => [code, { code }]));

export const plainDenial = (code: PlainDenialCode): Denial => PLAIN.get(code) ?? { code };

export const denied = (denial: Denial): Decision => ({ outcome: 'denied', denial });
