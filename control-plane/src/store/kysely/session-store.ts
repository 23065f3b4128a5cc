import type { Kysely } from 'kysely';
import type { SessionStore } from '../../core/session.ts';
import { pageOf } from '../../core/paging.ts';
import { afterKey } from './keyset.ts';
import type { Schema } from '../schema/schema.ts';
import { toSession } from './session-rows.ts';

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
