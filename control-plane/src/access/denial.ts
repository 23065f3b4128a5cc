import type { ErrorCode } from '../core/errors.ts';
import type { LimiterDenial } from '../limits/limiter.ts';
import type { PolicyDenial } from '../core/policy.ts';

/** Denials that say nothing beyond their code. */
const PLAIN_CODES = [
  'MISSING_KEY',
  'INVALID_KEY',
  'AGENT_INACTIVE',
  'MCP_DISABLED',
  'INVALID_REQUEST',
  'INVALID_SERVICE',
  'VAULT_LOCKED',
  'NO_GRANT',
  'GRANT_EXPIRED',
  'SESSION_NOT_FOUND',
  'WEBHOOK_NOT_CONFIGURED',
] as const satisfies readonly ErrorCode[];
export type PlainDenialCode = (typeof PLAIN_CODES)[number];

/** Why a request gets nothing. A value and not an exception: being refused is an ordinary answer, and a cheap one. */
export type Denial =
  | { readonly code: PlainDenialCode }
  | { readonly code: 'WEBHOOK_UNAVAILABLE'; readonly retryAfterSeconds: number }
  /**
   * `scope` is what had no room: the penalty box, the floor, the account's ceiling, a proxy's streams, the memory for large
   * bodies, or a counter of its own.
   */
  | {
      readonly code: 'RATE_LIMITED';
      readonly scope: LimiterDenial['scope'] | 'open_streams' | 'large_bodies';
      readonly retryAfterSeconds: number;
    }
  /** `retryAfterSeconds` only, and always, where `rule` is `rate_limit`. */
  | ({ readonly code: 'POLICY_DENIED'; readonly retryAfterSeconds?: number } & PolicyDenial);

/** Made once: a denial without particulars is the same value each time. */
const PLAIN: ReadonlyMap<PlainDenialCode, Denial> = new Map(PLAIN_CODES.map((code) => [code, { code }]));

export const plainDenial = (code: PlainDenialCode): Denial => PLAIN.get(code) ?? { code };

/** A request that gets nothing, whoever asked. */
export interface Denied {
  readonly outcome: 'denied';
  readonly denial: Denial;
}

export const denied = (denial: Denial): Denied => ({ outcome: 'denied', denial });
