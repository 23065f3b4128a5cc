import type { Id } from '@svault/shared';
import type { CountedScope, FloorScope, LimitScope } from './scopes.ts';

/** An agent or a proxy: floors and penalty boxes belong to it. */
export interface LimitedCaller {
  readonly vaultId: Id<'vlt'>;
  readonly callerId: Id<'agt'> | Id<'prx'>;
}

/** A fixed window that begins with the first use; `key` is unique within the account and the scope. */
export interface Counter {
  /** A scope of the specification, or a policy's `rate_limit` rule. */
  readonly scope: CountedScope | 'rate_limit';
  /** What it counts, such as an agent's id. */
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}

/** A counter that an account may ask about: also that of all its agents and proxies together. */
export interface AccountCounter extends Omit<Counter, 'scope'> {
  readonly scope: Counter['scope'] | 'user_aggregate';
}

/** How much of a counter is used now. */
export interface CounterUsage {
  readonly used: number;
  /** A whole number of seconds; 0 where no window is running. */
  readonly resetsInSeconds: number;
}

/** One request with all of its counters, so that a decision takes one round trip to Redis. */
export interface Admission extends LimitedCaller {
  /**
   * A floor scope: penalty box, floor (its excess is a strike), aggregate. `mcp_handshake`: penalty box, `mcp_handshake`,
   * aggregate, and never a strike (specification, "Handshake exemption").
   */
  readonly traffic: FloorScope | 'mcp_handshake';
  /** The account's limit per minute (`aggregateLimit`). */
  readonly aggregateLimit: number;
  /** Checked last, and counted only if all of them have room: `agent_no_grant`, `credential_history`, policies' rates. */
  readonly extraCounters: readonly Counter[];
}

/** The limit that has no room, and for how long. */
export interface LimiterDenial {
  readonly allowed: false;
  readonly scope: LimitScope | 'penalty_box' | 'rate_limit';
  /** The counter's key, where one of `extraCounters` is full. */
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

/** The most lockouts that a page or a response lists. */
export const MAX_LOCKOUTS = 100;

/**
 * The limits of the specification. Each call decides and counts atomically: of two simultaneous requests for one remaining
 * use, one is admitted. An implementation returns a verdict or a promise of one, and never rejects.
 */
export interface Limiter {
  /** Penalty box → floor → aggregate → `extraCounters`. A denial counts nothing after the limit that denies. */
  admit(admission: Admission): LimiterVerdict | Promise<LimiterVerdict>;

  /**
   * One counter without floor or penalty box: `key_reveal`, `setup_step`, all scopes per address.
   *
   * @param vaultId the counter's account, so that `admit` and `take` share it; undefined for counters per address
   */
  take(counter: Counter, vaultId?: Id<'vlt'>): LimiterVerdict | Promise<LimiterVerdict>;

  /** The usage of counters of an account, in their order; counts nothing. */
  usage(
    counters: readonly AccountCounter[],
    vaultId: Id<'vlt'>,
  ): readonly CounterUsage[] | Promise<readonly CounterUsage[]>;

  /** The callers of an account that are locked out now; of more than {@link MAX_LOCKOUTS}, at least that many. */
  lockouts(vaultId: Id<'vlt'>): readonly Lockout[] | Promise<readonly Lockout[]>;
}
