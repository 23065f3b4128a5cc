import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import type { AuditCheckpointStore } from '../../core/audit-checkpoint.ts';
import type { Schema } from '../schema.ts';
import { all, changesRow, first } from './queries.ts';
import { toEntity, toRow } from './rows.ts';

export function createAuditCheckpointStore(db: Kysely<Schema>): AuditCheckpointStore {
  return {
    find: (vaultId, webhookId) =>
      first(
        db
          .selectFrom('audit_checkpoints')
          .selectAll()
          .where('vault_id', '=', vaultId)
          .where('webhook_id', '=', webhookId),
        toEntity,
      ),

    put: (checkpoint, from) => {
      const row = toRow(checkpoint);
      return changesRow(
        db
          .insertInto('audit_checkpoints')
          .values(row)
          .onConflict((conflict) =>
            conflict
              .columns(['vault_id', 'webhook_id'])
              .doUpdateSet(row)
              .where('audit_checkpoints.size', '=', from),
          ),
      );
    },

    backlog: ({ after = '' as Id<'vlt'>, limit }) =>
      all(
        db
          .selectFrom('webhook_links')
          .innerJoin('audit_chains', 'audit_chains.vault_id', 'webhook_links.vault_id')
          .leftJoin('audit_checkpoints', (join) =>
            join
              .onRef('audit_checkpoints.vault_id', '=', 'webhook_links.vault_id')
              .onRef('audit_checkpoints.webhook_id', '=', 'webhook_links.webhook_id'),
          )
          .select('webhook_links.vault_id')
          .where('webhook_links.vault_id', '>', after)
          .where('shipped_seq', '>', 0)
          .where(({ eb, or, ref }) => or([eb('size', 'is', null), eb('size', '<>', ref('shipped_seq'))]))
          .orderBy('webhook_links.vault_id')
          .limit(limit),
        ({ vault_id: vaultId }) => vaultId,
      ),
  };
}
