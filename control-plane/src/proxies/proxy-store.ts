import type { Id } from '@svault/shared';
import type { Page, PageRequest } from '../paging.ts';
import type { Proxy } from './proxy.ts';

/** A proxy's key as it is kept: found by its hash, shown again from the wrapped form. */
export interface StoredProxyKey {
  /** SHA-256, lower-case hex; unique over all accounts. */
  readonly keyHash: string;
  /** base64url of the key under the master key. */
  readonly keyWrapped: string;
}

export interface ProxyStore {
  add(proxy: Proxy & StoredProxyKey): Promise<void>;
  /** Revoked ones too. */
  get(vaultId: Id<'vlt'>, id: string): Promise<Proxy | undefined>;
  /** Oldest first; revoked ones too. */
  list(vaultId: Id<'vlt'>, page: PageRequest): Promise<Page<Proxy>>;
}
