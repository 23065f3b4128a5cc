import * as z from 'zod';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { type Vault, lockVault, ownVault, setAccessRequests, unlockVault } from '../../core/vault.ts';
import type { Needs } from './dependencies.ts';
import { timeSchema } from './fields.ts';

export const vaultSchema = z
  .object({
    id: z.string().meta({ examples: ['vlt_…'] }),
    locked: z.boolean(),
    lockedAt: timeSchema.nullable(),
    createdAt: timeSchema,
    accessRequests: z.boolean().meta({ description: 'Whether agents may ask for grants' }),
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
    defineRoute('PATCH /api/vault', {
      ...shared,
      operation: 'updateVault',
      summary: 'Let agents ask for grants, or no longer',
      role: 'admin',
      whenLocked: 'denied',
      body: z.strictObject({ accessRequests: z.boolean() }).meta({ id: 'VaultChanges' }),
      change: async (inside, { actor, body }) =>
        toVaultView(await setAccessRequests(inside, actor, body.accessRequests)),
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
