import type { Id } from '@svault/shared';
import type { CountedScope, FloorScope, LimitScope } from './scopes.ts';

/** Whom the floors and the penalty box count: an agent, or a proxy. */
export interface LimitedCaller {
  readonly vaultId: Id<'vlt'>;
  readonly callerId: Id<'agt'> | Id<'prx'>;
}

/** A fixed window that begins with the first use; `key` is unique within the account and the scope. */
export interface Counter {
  /** A scope of the specification, or a policy's own rule. */
  readonly scope: CountedScope | 'rate_limit';
  /** Whom it counts, such as an agent's id. */
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}

/** One request, with everything that it counts against, so that one decision is one round trip. */
export interface Admission extends LimitedCaller {
  /**
   * Full: penalty box, floor (whose excess is a strike), aggregate. Handshake: penalty box, `mcp_handshake`, aggregate, and
   * never a strike (specification, "Handshake exemption").
   */
  readonly traffic: FloorScope | 'mcp_handshake';
  /** The account's ceiling per minute (`aggregate.ts`). */
  readonly aggregateLimit: number;
  /** Asked last, and counted only if all of them have room: the miss limit, `credential_history`, policies' rates. */
  readonly extraCounters: readonly Counter[];
}

/** Which limit has no room, and for how long. */
export interface LimiterDenial {
  readonly allowed: false;
  readonly scope: LimitScope | 'penalty_box' | 'rate_limit';
  /** The counter's key, where one of `extraCounters` refused. */
  readonly key?: string;
  /** A whole number of seconds, at least 1. */
  readonly retryAfterSeconds: number;
}

export type LimiterVerdict = { readonly allowed: true } | LimiterDenial;

/** A caller in the penalty box. */
export interface Lockout {
  readonly callerId: Id<'agt'> | Id<'prx'>;
  readonly strikes: number;
  readonly retryAfterSeconds: number;
}

/** More than anybody reads at once. */
export const MAX_LOCKOUTS = 100;

/**
 * The limits of the specification. Everything is decided and counted at once: of two requests at the same moment that
 * leave room for one, one is admitted. An implementation may answer at once or by a promise, and never rejects.
 */
export interface Limiter {
  /** Penalty box → floor → aggregate → `extraCounters`. What refuses counts nothing behind it. */
  admit(admission: Admission): LimiterVerdict | Promise<LimiterVerdict>;

  /**
   * One counter alone, with neither floor nor penalty box: `key_reveal`, `setup_step`, everything per address.
   *
   * @param vaultId the account that the counter belongs to, so that it is the same one that `admit` counts; none for
   *   counters per address
   */
  take(counter: Counter, vaultId?: Id<'vlt'>): LimiterVerdict | Promise<LimiterVerdict>;

  /** Who of an account is locked out now; where they are more than {@link MAX_LOCKOUTS}, at least so many. */
  lockouts(vaultId: Id<'vlt'>): readonly Lockout[] | Promise<readonly Lockout[]>;
}
