import { type Clock, type Id, formatTime } from '@svault/shared';
import { type Actor, changeBy } from './actor.ts';
import { notFound, refusal } from './errors.ts';
import type { Stores } from './stores.ts';
import type { Vault } from './vault-store.ts';

/** @throws AppError VAULT_LOCKED while the vault is locked (specification, Vault states) */
export async function refuseWhileLocked(stores: Pick<Stores, 'vaults'>, vaultId: Id<'vlt'>): Promise<void> {
  const vault = await stores.vaults.get(vaultId);
  if (vault?.lockedAt !== undefined)
    throw refusal('VAULT_LOCKED', 'The vault is locked. An admin of the account can unlock it.');
}

/** unlocked → locked. Locking a locked vault changes nothing and writes no event, so that a repeat is safe. */
export async function lockVault(
  stores: Pick<Stores, 'vaults' | 'audit'>,
  actor: Actor,
  clock: Clock,
): Promise<Vault> {
  const vault = await ownVault(stores, actor);
  if (vault.lockedAt !== undefined) return vault;
  const lockedAt = formatTime(clock.now());
  await stores.vaults.setLockedAt(vault.id, lockedAt);
  await stores.audit.append(changeBy(actor, 'VAULT_LOCKED'));
  return { ...vault, lockedAt };
}

/** locked → unlocked; the route lets admins only. */
export async function unlockVault(stores: Pick<Stores, 'vaults' | 'audit'>, actor: Actor): Promise<Vault> {
  const vault = await ownVault(stores, actor);
  if (vault.lockedAt === undefined) return vault;
  await stores.vaults.setLockedAt(vault.id, undefined);
  await stores.audit.append(changeBy(actor, 'VAULT_UNLOCKED'));
  return { ...vault, lockedAt: undefined };
}

/** The actor's vault. */
export async function ownVault(stores: Pick<Stores, 'vaults'>, actor: Actor): Promise<Vault> {
  const vault = await stores.vaults.get(actor.vaultId);
  if (vault === undefined) throw notFound();
  return vault;
}
