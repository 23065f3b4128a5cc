import type { Id } from '@svault/shared';
import type { TokenType } from '@svault/shared/schemas';
import type { Page, PageRequest } from './paging.ts';

/** What the service knows of a stored credential: how its owner describes it. The credential is the webhook's. */
export interface TokenMetadata {
  readonly vaultId: Id<'vlt'>;
  readonly serviceName: string;
  readonly tokenType: TokenType;
  readonly displayName: string;
  readonly description: string;
  readonly notes: string;
  readonly tags: readonly string[];
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Since when upstreams of proxies answer 401 to it; undefined where the last use that was answered was fine. */
  readonly upstreamRejectedAt?: string | undefined;
}

/** What an owner may change; undefined members stay as they are. */
export interface TokenChanges {
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
  readonly notes?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

export interface TokenStore {
  /** @returns false, and changes nothing, where the vault has one of that name already */
  add(token: TokenMetadata): Promise<boolean>;
  get(vaultId: Id<'vlt'>, serviceName: string): Promise<TokenMetadata | undefined>;
  /** Those of some names that are tokens of the vault. */
  known(vaultId: Id<'vlt'>, serviceNames: readonly string[]): Promise<ReadonlySet<string>>;
  /** Those of some names that are tokens of the vault, in any order. */
  ofServices(vaultId: Id<'vlt'>, serviceNames: readonly string[]): Promise<readonly TokenMetadata[]>;
  /** By service name. */
  list(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<TokenMetadata>>;
  update(vaultId: Id<'vlt'>, serviceName: string, changes: TokenChanges, updatedAt: string): Promise<void>;
  /** Marks that an upstream answered 401 to the credential. @returns false where it is marked already, or unknown */
  markRejected(vaultId: Id<'vlt'>, serviceName: string, at: string): Promise<boolean>;
  clearRejected(vaultId: Id<'vlt'>, serviceName: string): Promise<void>;
  /** @returns whether it was there */
  remove(vaultId: Id<'vlt'>, serviceName: string): Promise<boolean>;
}
