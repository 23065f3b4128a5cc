import type { Clock } from '@svault/shared';
import { z } from 'zod';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import type { Stores } from '../../core/stores.ts';
import { type Vault, lockVault, ownVault, unlockVault } from '../../core/vault.ts';
import { timeSchema } from './fields.ts';

export const vaultSchema = z
  .object({
    id: z.string().meta({ examples: ['vlt_…'] }),
    locked: z.boolean(),
    lockedAt: timeSchema.nullable(),
    createdAt: timeSchema,
  })
  .meta({ id: 'Vault' });

export const toVaultView = ({ id, lockedAt, createdAt }: Vault): z.output<typeof vaultSchema> => ({
  id,
  locked: lockedAt !== undefined,
  lockedAt: lockedAt ?? null,
  createdAt,
});

export function createVaultRoutes({
  clock,
  stores,
}: {
  readonly clock: Clock;
  readonly stores: Pick<Stores, 'vaults'>;
}): readonly ManagementRoute[] {
  const shared = {
    tag: 'Vault',
    whenLocked: 'allowed',
    response: { status: 200, schema: vaultSchema },
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
