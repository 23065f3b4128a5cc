import type { Id } from '@svault/shared';

/** Specification, "Grant": whether the service sees to the refreshing of an OAuth token. */
export const REFRESH_POLICIES = ['none', 'auto'] as const;
export type RefreshPolicy = (typeof REFRESH_POLICIES)[number];

export interface Grant {
  readonly id: Id<'grt'>;
  readonly vaultId: Id<'vlt'>;
  readonly agentId: Id<'agt'>;
  readonly serviceName: string;
  /** Undefined: until revoked. */
  readonly grantExpiresAt: string | undefined;
  readonly refreshPolicy: RefreshPolicy;
  /** The folder it was made from. */
  readonly sourceGroupId: string | undefined;
  readonly createdAt: string;
}

/** A grant has lapsed from its expiry time on. @param now in the written form */
export function isExpired(grant: Pick<Grant, 'grantExpiresAt'>, now: string): boolean {
  return grant.grantExpiresAt !== undefined && grant.grantExpiresAt <= now;
}
