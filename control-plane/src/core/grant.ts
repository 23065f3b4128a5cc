import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';

/** Specification, "Grant": whether the control plane refreshes the OAuth token. */
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

/** @param now `YYYY-MM-DDTHH:MM:SS.sssZ` */
export function isExpired(grant: Pick<Grant, 'grantExpiresAt'>, now: string): boolean {
  return grant.grantExpiresAt !== undefined && grant.grantExpiresAt <= now;
}

/** A count of grants for a list reads no more. */
export const GRANTS_COUNTED_UP_TO = 1_000;

export interface GrantStore {
  /** At most one per agent and service: throws where there is one already. */
  addAll(grants: readonly Grant[]): Promise<void>;
  get(vaultId: Id<'vlt'>, agentId: Id<'agt'>, serviceName: string): Promise<Grant | undefined>;
  /** An agent's grants for some services; expired ones too. */
  ofServices(
    vaultId: Id<'vlt'>,
    agentId: Id<'agt'>,
    serviceNames: readonly string[],
  ): Promise<readonly Grant[]>;
  /** By service name; expired ones too. */
  list(vaultId: Id<'vlt'>, agentId: Id<'agt'>, page: PageRequest): Promise<Page<Grant>>;
  /** By agent and service name; the whole account's. */
  listAll(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<Grant>>;
  /**
   * How many grants each agent, by its id, or each service, by its name, has; expired ones too. Without those that have none,
   * and up to {@link GRANTS_COUNTED_UP_TO}.
   */
  countsOf(
    vaultId: Id<'vlt'>,
    by: 'agent' | 'service',
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, number>>;
  /** Writes the expiry and the refresh policy. */
  updateTerms(grant: Pick<Grant, 'vaultId' | 'id' | 'grantExpiresAt' | 'refreshPolicy'>): Promise<void>;
  /** @returns whether it was there */
  remove(vaultId: Id<'vlt'>, id: Id<'grt'>): Promise<boolean>;
  removeAll(vaultId: Id<'vlt'>, ids: readonly Id<'grt'>[]): Promise<void>;
  /** @returns how many there were */
  removeOfAgent(vaultId: Id<'vlt'>, agentId: Id<'agt'>): Promise<number>;
  /** @returns those that were removed */
  removeOfService(vaultId: Id<'vlt'>, serviceName: string): Promise<readonly Grant[]>;
}
