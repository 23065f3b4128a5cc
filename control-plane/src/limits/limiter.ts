import type { Id } from '@svault/shared';

/** Which limit refused; names from the specification's "Limits". */
export type LimitScope = 'penalty_box' | 'agent_credentials' | 'user_aggregate' | 'agent_no_grant';

export type LimiterVerdict =
  | { readonly allowed: true }
  /** @property retryAfterSeconds a whole number of seconds, at least 1 */
  | { readonly allowed: false; readonly scope: LimitScope; readonly retryAfterSeconds: number };

/** Whom a limit counts. */
export interface LimitedAgent {
  readonly vaultId: Id<'vlt'>;
  readonly agentId: Id<'agt'>;
}

/** The limits on an agent's credential requests. An implementation may answer at once or by a promise. */
export interface AgentLimiter {
  /** Penalty box, then floor (whose excess is a strike), then the account's aggregate. Counts the request. */
  admit(agent: LimitedAgent): LimiterVerdict | Promise<LimiterVerdict>;

  /** Counts a NO_GRANT or GRANT_EXPIRED miss (scope `agent_no_grant`, never a strike). */
  admitMiss(agent: LimitedAgent): LimiterVerdict | Promise<LimiterVerdict>;
}
