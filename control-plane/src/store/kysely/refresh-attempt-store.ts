import type { Kysely } from 'kysely';
import type { RefreshAttempt, RefreshAttemptStore } from '../../core/refresh-attempt.ts';
import { chunksOf } from './pagination.ts';
import type { Schema } from '../schema/schema.ts';

export function createRefreshAttemptStore(db: Kysely<Schema>): RefreshAttemptStore {
  return {
    ofServices: async (vaultId, serviceNames) => {
      const attempts = new Map<string, RefreshAttempt>();
      for (const chunk of chunksOf(serviceNames)) {
        const rows = await db
          .selectFrom('refresh_attempts')
          .selectAll()
          .where('vault_id', '=', vaultId)
          .where('service_name', 'in', chunk)
          .execute();
        for (const { service_name: name, version, failures, next_at: nextAt } of rows)
          attempts.set(name, { version, failures, nextAt });
      }
      return attempts;
    },
    begin: async (vaultId, serviceName, { version, failures, nextAt }, { now, latest }) => {
      const row = { version, failures, next_at: nextAt };
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('refresh_attempts')
        .values({ vault_id: vaultId, service_name: serviceName, ...row })
        .onConflict((conflict) =>
          conflict
            .columns(['vault_id', 'service_name'])
            .doUpdateSet(row)
            .where(({ eb, or }) =>
              or([
                eb('refresh_attempts.next_at', '<=', now),
                eb('refresh_attempts.next_at', '>', latest),
                eb('refresh_attempts.version', '!=', version),
              ]),
            ),
        )
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    },
    settle: async (vaultId, serviceName, { version, failures, nextAt }) => {
      await db
        .updateTable('refresh_attempts')
        .set({ failures, next_at: nextAt })
        .where('vault_id', '=', vaultId)
        .where('service_name', '=', serviceName)
        // Not over a later version's attempt, which another process may have begun.
        .where('version', '=', version)
        .execute();
    },
    forget: async (before) => {
      await db.deleteFrom('refresh_attempts').where('next_at', '<', before).execute();
    },
  };
}
