import type { Id } from '@svault/shared';
import type { Kysely, Selectable } from 'kysely';
import { pageOf } from '../../core/paging.ts';
import type { CliSessionStore, KeptKeys, PreviousKeys, Session, SessionStore } from '../../core/session.ts';
import type { Schema } from '../schema/schema.ts';
import { afterKey } from './pagination.ts';

export function createSessionStore(db: Kysely<Schema>): SessionStore {
  const sessions = db
    .selectFrom('sessions')
    .leftJoin('oauth_sessions', 'oauth_sessions.session_id', 'sessions.id')
    .selectAll('sessions')
    .select(['oauth_sessions.agent_id', 'oauth_sessions.client_id']);
  return {
    add: async (session) => {
      const row = {
        id: session.id,
        vault_id: session.vaultId,
        user_id: session.userId,
        kind: session.kind,
        method: session.method,
        token_hash: session.tokenHash,
        client: session.client,
        created_at: session.createdAt,
        last_used_at: session.lastUsedAt,
        expires_at: session.expiresAt,
      };
      await db.insertInto('sessions').values(row).execute();
    },
    findByHash: async (kind, tokenHash) => {
      const row = await db
        .selectFrom('sessions')
        .innerJoin('users', 'users.id', 'sessions.user_id')
        .selectAll('sessions')
        .select('users.role')
        .where('token_hash', '=', tokenHash)
        .where('kind', '=', kind)
        .where('users.deleted_at', 'is', null)
        .executeTakeFirst();
      return row && { ...toSession(row), role: row.role };
    },
    get: async (vaultId, id) => {
      const row = await sessions.where('vault_id', '=', vaultId).where('id', '=', id).executeTakeFirst();
      return row && toSession(row);
    },
    roleOf: async (vaultId, id) => {
      const row = await db
        .selectFrom('sessions')
        .innerJoin('users', 'users.id', 'sessions.user_id')
        .select('users.role')
        .where('sessions.vault_id', '=', vaultId)
        .where('sessions.id', '=', id)
        .where('users.deleted_at', 'is', null)
        .executeTakeFirst();
      return row?.role;
    },
    list: async (vaultId, userId, page) => {
      let query = sessions.where('vault_id', '=', vaultId).where(afterKey(['created_at', 'id'], page));
      if (userId !== undefined) query = query.where('user_id', '=', userId);
      const rows = await query
        .orderBy('created_at')
        .orderBy('id')
        .limit(page.limit + 1)
        .execute();
      return pageOf(rows.map(toSession), page.limit, ({ createdAt, id }) => [createdAt, id]);
    },
    remove: async (vaultId, id, userId) => {
      let query = db.deleteFrom('sessions').where('vault_id', '=', vaultId).where('id', '=', id);
      if (userId !== undefined) query = query.where('user_id', '=', userId);
      const { numDeletedRows } = await query.executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
    ofUser: async (userId, kind) => {
      const rows = await sessions.where('user_id', '=', userId).where('kind', '=', kind).execute();
      return rows.map(toSession);
    },
    removeOfUser: async (userId, { kinds, but }) => {
      let query = db.deleteFrom('sessions').where('user_id', '=', userId).where('kind', 'in', kinds);
      if (but !== undefined) query = query.where('id', '!=', but);
      await query.execute();
    },
    touch: async (id, usedAt) => {
      await db.updateTable('sessions').set({ last_used_at: usedAt }).where('id', '=', id).execute();
    },
    removeExpired: async (now) => {
      await db.deleteFrom('sessions').where('expires_at', '<=', now).execute();
    },
    removeIdle: async (kind, since) => {
      await db.deleteFrom('sessions').where('kind', '=', kind).where('last_used_at', '<=', since).execute();
    },
  };
}

/** @param row joined with `oauth_sessions`, where the session may be an MCP client's */
export function toSession(
  row: Selectable<Schema['sessions']> & {
    readonly agent_id?: Id<'agt'> | null;
    readonly client_id?: string | null;
  },
): Session {
  return {
    id: row.id,
    vaultId: row.vault_id,
    userId: row.user_id,
    agentId: row.agent_id ?? undefined,
    clientId: row.client_id ?? undefined,
    kind: row.kind,
    method: row.method ?? 'link',
    client: row.client,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}

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
