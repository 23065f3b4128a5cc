import type { Id } from '@svault/shared';

/**
 * How many things of a kind an account has at most: a member, or a program with a member's session, must not fill the
 * database. Far above what an account needs; each can be set (`SV_LIMIT_MAX_AGENTS` and so on).
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

/** What is counted. */
export type QuotaNoun = keyof typeof QUOTAS;

/** The name of its setting behind `SV_LIMIT_`. */
export type QuotaScope = `max_${QuotaNoun}`;

export const QUOTA_NOUNS = Object.keys(QUOTAS) as readonly QuotaNoun[];
export const quotaScope = (noun: QuotaNoun): QuotaScope => `max_${noun}`;

/** What a management operation makes one of (the OpenAPI document's operation ids). */
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
  /** How many things of a kind an account has, counted no further than `upTo`. Deleted agents do not count. */
  count(vaultId: Id<'vlt'>, noun: QuotaNoun, upTo: number): Promise<number>;
}
