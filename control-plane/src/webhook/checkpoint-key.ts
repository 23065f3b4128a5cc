import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Id } from '@svault/shared';
import { checkpointOrigin, createLogKey } from '@svault/shared/audit-chain';

/** The key that signs the checkpoints of an account's log, and the origin that is its name. */
export type CheckpointKeys = ReturnType<typeof createCheckpointKeys>;

/**
 * One key of this installation, under the origin of each account. It is derived from the data encryption key, so it is the same
 * in each process, after a rotation of the root key and in a restored backup.
 */
export function createCheckpointKeys(masterKeys: MasterKeys, baseUrl: string) {
  const seed = masterKeys.derive('audit checkpoint key');
  return (vaultId: Id<'vlt'>) => {
    const origin = checkpointOrigin(baseUrl, vaultId);
    return { origin, ...createLogKey(origin, seed) };
  };
}
