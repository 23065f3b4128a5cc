import type { Kysely } from 'kysely';
import type { RefreshAttemptStore } from '../../core/refresh-attempt.ts';
import type { Schema } from '../schema.ts';
import { changesRow, rowsOfChunks, run } from './queries.ts';
import { toRow } from './rows.ts';

export function createRefreshAttemptStore(db: Kysely<Schema>): RefreshAttemptStore {
  return {
    ofServices: async (vaultId, serviceNames) => {
      const attempts = db.selectFrom('refresh_attempts').selectAll().where('vault_id', '=', vaultId);
      const rows = await rowsOfChunks(serviceNames, (chunk) => attempts.where('service_name', 'in', chunk));
      return new Map(
        rows.map(({ service_name, version, failures, next_at }) => [
          service_name,
          { version, failures, nextAt: next_at },
        ]),
      );
    },
    begin: (vaultId, serviceName, attempt, { now, latest }) =>
      changesRow(
        db
          .insertInto('refresh_attempts')
          .values({ vault_id: vaultId, service_name: serviceName, ...toRow(attempt) })
          .onConflict((conflict) =>
            conflict
              .columns(['vault_id', 'service_name'])
              .doUpdateSet(toRow(attempt))
              .where(({ eb, or }) =>
                or([
                  eb('refresh_attempts.next_at', '<=', now),
                  eb('refresh_attempts.next_at', '>', latest),
                  eb('refresh_attempts.version', '!=', attempt.version),
                ]),
              ),
          ),
      ),
    settle: (vaultId, serviceName, { version, failures, nextAt }) =>
      run(
        db
          .updateTable('refresh_attempts')
          .set({ failures, next_at: nextAt })
          .where('vault_id', '=', vaultId)
          .where('service_name', '=', serviceName)
          // Not over a later version's attempt, which another process may have begun.
          .where('version', '=', version),
      ),
    forget: (before) => run(db.deleteFrom('refresh_attempts').where('next_at', '<', before)),
  };
}
