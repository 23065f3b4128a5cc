import type { Clock } from '@svault/shared';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import type { Stores } from '../../core/stores.ts';
import { lockVault, ownVault, unlockVault } from '../../core/vault.ts';
import { toVaultView, vaultSchema } from './schemas/account.ts';

export function createVaultRoutes({
  clock,
  stores,
}: {
  readonly clock: Clock;
  readonly stores: Pick<Stores, 'vaults'>;
}): readonly ManagementRoute[] {
  const shared = {
    tag: 'Vault',
    whenLocked: 'answers',
    answer: { status: 200, schema: vaultSchema },
  } as const;
  return [
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/vault',
      operation: 'getVault',
      summary: 'Read whether the vault is locked',
      role: 'member',
      audit: [],
      handle: async ({ actor }) => toVaultView(await ownVault(stores, actor)),
    }),
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/vault/lock',
      operation: 'lockVault',
      summary: 'Refuse every credential request and every change until it is unlocked',
      role: 'member',
      audit: ['VAULT_LOCKED'],
      handle: async ({ actor, transaction }) =>
        toVaultView(await transaction((inside) => lockVault(inside, actor, clock))),
    }),
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/vault/unlock',
      operation: 'unlockVault',
      summary: 'End the lock',
      role: 'admin',
      audit: ['VAULT_UNLOCKED'],
      handle: async ({ actor, transaction }) =>
        toVaultView(await transaction((inside) => unlockVault(inside, actor))),
    }),
  ];
}
