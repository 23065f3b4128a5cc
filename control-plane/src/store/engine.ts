import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import type { StampedAuditEvent } from '../core/audit-event.ts';
import type { Schema } from './schema.ts';

/** Where the two databases differ behind the same stores. */
export interface Engine {
  /** `VaultStore.lockForUpdate`. @param db a transaction */
  lockForUpdate(db: Kysely<Schema>, vaultId: Id<'vlt'>): Promise<void>;

  /**
   * Appends events to their vault's chain.
   *
   * @param db a transaction, where the events report a change
   * @param events at least one
   * @param raisesRevision of the account
   */
  writeEvents(
    db: Kysely<Schema>,
    vaultId: Id<'vlt'>,
    events: readonly StampedAuditEvent[],
    raisesRevision: boolean,
  ): Promise<void>;
}
