import type { Id } from '@svault/shared';
import type { TokenType } from '@svault/shared/schemas';
import type { NamedPageRequest, Page } from './paging.ts';

/** The control plane's description of a credential, which the webhook stores. */
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
  /** The time since when upstreams of proxies answer 401 to it; undefined where they accepted its last use. */
  readonly upstreamRejectedAt?: string | undefined;
}

/** Undefined members stay. */
export interface TokenChanges {
  readonly displayName?: string | undefined;
  readonly description?: string | undefined;
  readonly notes?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** What a list is restricted to. */
export interface TokenFilter {
  readonly tokenType?: TokenType | undefined;
  /** Those in this folder; none for a folder that the vault does not have. */
  readonly folderId?: Id<'fld'> | undefined;
}

export interface TokenStore {
  /** @returns false, and changes nothing, where the vault has one with that name already */
  add(token: TokenMetadata): Promise<boolean>;
  get(vaultId: Id<'vlt'>, serviceName: string): Promise<TokenMetadata | undefined>;
  /** The names that are tokens of the vault. */
  known(vaultId: Id<'vlt'>, serviceNames: readonly string[]): Promise<ReadonlySet<string>>;
  /** The first names in their order. */
  names(vaultId: Id<'vlt'>, atMost: number): Promise<readonly string[]>;
  /** In any order, without unknown names. */
  ofServices(vaultId: Id<'vlt'>, serviceNames: readonly string[]): Promise<readonly TokenMetadata[]>;
  /** By service name. */
  list(vaultId: Id<'vlt'>, page: NamedPageRequest & TokenFilter): Promise<Page<TokenMetadata>>;
  update(vaultId: Id<'vlt'>, serviceName: string, changes: TokenChanges, updatedAt: string): Promise<void>;
  /** Records that an upstream answered 401. @returns false where that is recorded already, or the token is unknown */
  markRejected(vaultId: Id<'vlt'>, serviceName: string, at: string): Promise<boolean>;
  /** What the account's tokens of these names are known to need an approval for, by name, without those that need none. */
  approvals(vaultId: Id<'vlt'>, serviceNames: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** @param approval names of operations, by a space; undefined: none needs one */
  setApproval(vaultId: Id<'vlt'>, serviceName: string, approval: string | undefined): Promise<void>;
  clearRejected(vaultId: Id<'vlt'>, serviceName: string): Promise<void>;
  /** @returns whether it was there */
  remove(vaultId: Id<'vlt'>, serviceName: string): Promise<boolean>;
}
