import * as z from 'zod';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { type Vault, lockVault, ownVault, unlockVault } from '../../core/vault.ts';
import type { Needs } from './dependencies.ts';
import { timeSchema } from './fields.ts';

export const vaultSchema = z
  .object({
    id: z.string().meta({ examples: ['vlt_…'] }),
    locked: z.boolean(),
    lockedAt: timeSchema.nullable(),
    createdAt: timeSchema,
  })
  .meta({ id: 'Vault' });

export const toVaultView = (vault: Vault): z.output<typeof vaultSchema> => ({
  ...vault,
  locked: vault.lockedAt !== undefined,
  lockedAt: vault.lockedAt ?? null,
});

export function createVaultRoutes({ clock, stores }: Needs<'clock', 'vaults'>): ManagementRoute[] {
  const shared = {
    tag: 'Vault',
    whenLocked: 'allowed',
    response: { status: 200, schema: vaultSchema },
  } as const;
  return [
    defineRoute('GET /api/vault', {
      ...shared,
      operation: 'getVault',
      summary: 'Read whether the vault is locked',
      role: 'member',
      handle: async ({ actor }) => toVaultView(await ownVault(stores, actor)),
    }),
    defineRoute('POST /api/vault/lock', {
      ...shared,
      operation: 'lockVault',
      summary: 'Refuse every credential request and every change until it is unlocked',
      role: 'member',
      change: async (inside, { actor }) => toVaultView(await lockVault(inside, actor, clock)),
    }),
    defineRoute('POST /api/vault/unlock', {
      ...shared,
      operation: 'unlockVault',
      summary: 'End the lock',
      role: 'admin',
      change: async (inside, { actor }) => toVaultView(await unlockVault(inside, actor)),
    }),
  ];
}
