import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import type { StampedAuditEvent } from '../core/audit-event.ts';
import type { Schema } from './schema/schema.ts';

/** What the two databases do in ways of their own behind the same stores. */
export interface Engine {
  /** `VaultStore.lockForUpdate`. @param db a transaction */
  lockForUpdate(db: Kysely<Schema>, vaultId: Id<'vlt'>): Promise<void>;

  /**
   * Writes events of one vault behind the head of its chain, each in its place.
   *
   * @param db a transaction, where it reports a change
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
