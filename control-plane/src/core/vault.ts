import { CONTROL_PLANE_ERRORS } from '@svault/shared/error-catalog';
import { type Clock, type Id, formatTime } from '@svault/shared';
import { type Actor, eventBy } from './actor.ts';
import { notFound, ApiError } from './errors.ts';
import type { AuditStore } from './audit-store.ts';

export interface Vault {
  readonly id: Id<'vlt'>;
  readonly createdAt: string;
  /** When it was locked; undefined while it is unlocked. */
  readonly lockedAt: string | undefined;
  /** Whether agents may ask for grants. */
  readonly accessRequests: boolean;
}

export interface VaultStore {
  /**
   * Locks the account's row until the end of the transaction: changes of one account run one after the other.
   * `UnitOfWork.run` calls it first.
   */
  lockForUpdate(vaultId: Id<'vlt'>): Promise<void>;
  add(vault: { readonly id: Id<'vlt'>; readonly createdAt: string }): Promise<void>;
  get(vaultId: Id<'vlt'>): Promise<Vault | undefined>;
  setLockedAt(vaultId: Id<'vlt'>, lockedAt: string | undefined): Promise<void>;
  setAccessRequests(vaultId: Id<'vlt'>, accessRequests: boolean): Promise<void>;
}

interface VaultStores {
  readonly vaults: VaultStore;
}

/** @throws ApiError VAULT_LOCKED while the vault is locked (specification, "Vault states") */
export async function requireUnlocked(stores: VaultStores, vaultId: Id<'vlt'>): Promise<void> {
  const vault = await stores.vaults.get(vaultId);
  if (vault?.lockedAt !== undefined)
    throw new ApiError('VAULT_LOCKED', CONTROL_PLANE_ERRORS.VAULT_LOCKED.message);
}

/** unlocked → locked. Idempotent: locking a locked vault changes nothing and writes no event. */
export async function lockVault(
  stores: VaultStores & { readonly audit: AuditStore },
  actor: Actor,
  clock: Clock,
): Promise<Vault> {
  const vault = await ownVault(stores, actor);
  if (vault.lockedAt !== undefined) return vault;
  const lockedAt = formatTime(clock.now());
  await stores.vaults.setLockedAt(vault.id, lockedAt);
  await stores.audit.append(eventBy(actor, 'VAULT_LOCKED'));
  return { ...vault, lockedAt };
}

/** locked → unlocked; the route requires an admin. */
export async function unlockVault(
  stores: VaultStores & { readonly audit: AuditStore },
  actor: Actor,
): Promise<Vault> {
  const vault = await ownVault(stores, actor);
  if (vault.lockedAt === undefined) return vault;
  await stores.vaults.setLockedAt(vault.id, undefined);
  await stores.audit.append(eventBy(actor, 'VAULT_UNLOCKED'));
  return { ...vault, lockedAt: undefined };
}

/** Lets agents ask for grants, or no longer. The same again changes nothing and writes no event. */
export async function setAccessRequests(
  stores: VaultStores & { readonly audit: AuditStore },
  actor: Actor,
  accessRequests: boolean,
): Promise<Vault> {
  const vault = await ownVault(stores, actor);
  if (vault.accessRequests === accessRequests) return vault;
  await stores.vaults.setAccessRequests(vault.id, accessRequests);
  await stores.audit.append(eventBy(actor, 'ACCOUNT_UPDATED', { detail: { accessRequests } }));
  return { ...vault, accessRequests };
}

export async function ownVault(stores: VaultStores, actor: Actor): Promise<Vault> {
  const vault = await stores.vaults.get(actor.vaultId);
  if (vault === undefined) throw notFound();
  return vault;
}
