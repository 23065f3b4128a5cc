import type { Kysely, Selectable } from 'kysely';
import type { CliSessionStore, PreviousKeys, KeptKeys } from '../../core/session.ts';
import type { Schema } from '../schema/schema.ts';
import { toSession } from './session-rows.ts';

export function createCliSessionStore(db: Kysely<Schema>): CliSessionStore {
  return {
    add: async (sessionId, keys) => {
      await db
        .insertInto('cli_sessions')
        .values({ session_id: sessionId, ...keyColumns(keys) })
        .execute();
    },
    find: async (familyHash) => {
      const row = await db
        .selectFrom('sessions')
        .innerJoin('cli_sessions', 'cli_sessions.session_id', 'sessions.id')
        .innerJoin('users', 'users.id', 'sessions.user_id')
        .selectAll('sessions')
        .selectAll('cli_sessions')
        .select('users.role')
        .where('token_hash', '=', familyHash)
        .where('users.deleted_at', 'is', null)
        .executeTakeFirst();
      return row && { session: toSession(row), role: row.role, keys: toKeys(row), previous: toPrevious(row) };
    },
    rotate: async (sessionId, next, previous) => {
      await db
        .updateTable('cli_sessions')
        .set({
          ...keyColumns(next),
          former_refresh_hash: previous.refreshHash,
          former_access_hash: previous.accessHash ?? null,
          former_access_expires_at: previous.accessExpiresAt ?? null,
          rotated_at: previous.rotatedAt,
          rotation_seed_wrapped: previous.wrappedSeed,
        })
        .where('session_id', '=', sessionId)
        .execute();
    },
    evictExpiredAccess: async (now) => {
      await db
        .updateTable('cli_sessions')
        .set({ access_hash: null })
        .where('access_expires_at', '<=', now)
        .where('access_hash', 'is not', null)
        .execute();
      await db
        .updateTable('cli_sessions')
        .set({ former_access_hash: null, former_access_expires_at: null })
        .where('former_access_expires_at', '<=', now)
        .execute();
    },
  };
}

type Row = Selectable<Schema['cli_sessions']>;

const keyColumns = (keys: KeptKeys): Pick<Row, 'refresh_hash' | 'access_hash' | 'access_expires_at'> => ({
  refresh_hash: keys.refreshHash,
  access_hash: keys.accessHash ?? null,
  access_expires_at: keys.accessExpiresAt,
});

const toKeys = (row: Row): KeptKeys => ({
  refreshHash: row.refresh_hash,
  accessHash: row.access_hash ?? undefined,
  accessExpiresAt: row.access_expires_at,
});

function toPrevious(row: Row): PreviousKeys | undefined {
  const { former_refresh_hash: refreshHash, rotated_at: rotatedAt, rotation_seed_wrapped: wrappedSeed } = row;
  if (refreshHash === null || rotatedAt === null || wrappedSeed === null) return undefined;
  return {
    refreshHash,
    accessHash: row.former_access_hash ?? undefined,
    accessExpiresAt: row.former_access_expires_at ?? undefined,
    rotatedAt,
    wrappedSeed,
  };
}
