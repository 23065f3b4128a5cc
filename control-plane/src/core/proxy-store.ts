import type { Id } from '@svault/shared';
import type { Page, PageRequest } from './paging.ts';
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
  /** Writes what an owner may change, and the revision. */
  update(proxy: Proxy): Promise<void>;
  /** The hash stays, so that nobody gets a key of it again; the wrapped key is erased. */
  markRevoked(vaultId: Id<'vlt'>, id: Id<'prx'>, revokedAt: string): Promise<void>;
  remove(vaultId: Id<'vlt'>, id: Id<'prx'>): Promise<void>;
  /** Undefined for a revoked proxy. */
  wrappedKey(vaultId: Id<'vlt'>, id: Id<'prx'>): Promise<string | undefined>;
  /** @returns false, and notes nothing, where the proxy is gone, revoked, or at another revision by now */
  noteDelivered(
    proxy: { readonly vaultId: Id<'vlt'>; readonly id: Id<'prx'>; readonly revision: number },
    deliveredAs: string,
  ): Promise<boolean>;
  forgetDelivery(vaultId: Id<'vlt'>, id: Id<'prx'>): Promise<void>;
  /** Of every proxy of an account. */
  forgetDeliveries(vaultId: Id<'vlt'>): Promise<void>;
}
