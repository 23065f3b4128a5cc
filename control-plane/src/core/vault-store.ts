import type { Id } from '@svault/shared';

export interface Vault {
  readonly id: Id<'vlt'>;
  readonly createdAt: string;
  /** When it was locked; undefined while it is unlocked. */
  readonly lockedAt: string | undefined;
}

export interface VaultStore {
  /**
   * Within a transaction: waits until every other change of this account has ended, and lets none begin before this one
   * has. `UnitOfWork.run` does so by itself.
   */
  lockForUpdate(vaultId: Id<'vlt'>): Promise<void>;
  add(vault: { readonly id: Id<'vlt'>; readonly createdAt: string }): Promise<void>;
  get(vaultId: Id<'vlt'>): Promise<Vault | undefined>;
  setLockedAt(vaultId: Id<'vlt'>, lockedAt: string | undefined): Promise<void>;
}
