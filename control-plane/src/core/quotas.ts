import type { Id } from '@svault/shared';

/**
 * The maximum number of objects of an account, so that a member or a program with a member's session cannot fill the
 * database. Each has a setting (`SV_LIMIT_MAX_AGENTS` and so on).
 */
export const QUOTAS = {
  agents: 10_000,
  tokens: 10_000,
  grants: 100_000,
  folders: 1_000,
  policies: 1_000,
  proxies: 1_000,
  members: 1_000,
  admin_keys: 1_000,
  providers: 1_000,
} as const satisfies Record<string, number>;

export type QuotaNoun = keyof typeof QUOTAS;

/** The name of its setting after `SV_LIMIT_`. */
export type QuotaScope = `max_${QuotaNoun}`;

export const QUOTA_NOUNS = Object.keys(QUOTAS) as readonly QuotaNoun[];
export const quotaScope = (noun: QuotaNoun): QuotaScope => `max_${noun}`;

/** The object that a management operation creates, by its id in the OpenAPI document. */
export const MAKES: Readonly<Partial<Record<string, QuotaNoun>>> = {
  createAgent: 'agents',
  createToken: 'tokens',
  createGrant: 'grants',
  createFolder: 'folders',
  createPolicy: 'policies',
  createProxy: 'proxies',
  addMember: 'members',
  createAdminKey: 'admin_keys',
  createProvider: 'providers',
};

export interface QuotaStore {
  /** Stops counting at `upTo`. Deleted agents do not count. */
  count(vaultId: Id<'vlt'>, noun: QuotaNoun, upTo: number): Promise<number>;
}
