import type { Id } from '@svault/shared';
import { type Kysely, type Selectable, type SqlBool, sql } from 'kysely';
import type {
  CliSessionStore,
  KeptKeys,
  PreviousKeys,
  PreviousRefreshToken,
  Session,
  SessionStore,
} from '../../core/session.ts';
import type { Schema } from '../schema.ts';
import { all, changesRow, first, pageBy, run } from './queries.ts';
import { toRow } from './rows.ts';

/** Without the hash of the token. */
export const SESSION = [
  'sessions.id',
  'sessions.vault_id',
  'sessions.user_id',
  'sessions.kind',
  'sessions.method',
  'sessions.client',
  'sessions.created_at',
  'sessions.last_used_at',
  'sessions.expires_at',
] as const;

export function createSessionStore(db: Kysely<Schema>): SessionStore {
  const sessions = db
    .selectFrom('sessions')
    .leftJoin('oauth_sessions', 'oauth_sessions.session_id', 'sessions.id')
    .select(SESSION)
    .select(['oauth_sessions.agent_id', 'oauth_sessions.client_id']);
  const withUser = db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select('users.role')
    .where('users.deleted_at', 'is', null);
  return {
    add: ({ agentId: _agent, clientId: _client, ...session }) =>
      run(db.insertInto('sessions').values(toRow(session))),
    findByHash: (kind, tokenHash) =>
      first(withUser.select(SESSION).where('token_hash', '=', tokenHash).where('kind', '=', kind), (row) => ({
        ...toSession(row),
        role: row.role,
      })),
    get: (vaultId, id) => first(sessions.where('vault_id', '=', vaultId).where('id', '=', id), toSession),
    roleOf: (vaultId, id) =>
      first(
        withUser.where('sessions.vault_id', '=', vaultId).where('sessions.id', '=', id),
        ({ role }) => role,
      ),
    list: (vaultId, { userId, agentId }, page) => {
      let query = sessions
        .select(({ selectFrom }) => [
          selectFrom('users').select('email').whereRef('users.id', '=', 'sessions.user_id').as('email'),
          selectFrom('agents')
            .select('name')
            .whereRef('agents.id', '=', 'oauth_sessions.agent_id')
            .as('agent_name'),
        ])
        .where('vault_id', '=', vaultId);
      if (userId !== undefined) query = query.where('user_id', '=', userId);
      // An expression: by the index of agents, all sessions of one would be sorted.
      const acting =
        agentId === undefined ? [] : [sql<SqlBool>`coalesce(oauth_sessions.agent_id, '') = ${agentId}`];
      const named = (
        row: SessionColumns & { readonly email: string | null; readonly agent_name: string | null },
      ) => ({
        ...toSession(row),
        email: row.email ?? '',
        agentName: row.agent_name ?? undefined,
      });
      return pageBy(['created_at', 'id'], query, page, named, acting);
    },
    remove: (vaultId, id, userId) => {
      let query = db.deleteFrom('sessions').where('vault_id', '=', vaultId).where('id', '=', id);
      if (userId !== undefined) query = query.where('user_id', '=', userId);
      return changesRow(query);
    },
    ofUser: (userId, kind) => all(sessions.where('user_id', '=', userId).where('kind', '=', kind), toSession),
    removeOfUser: (userId, { kinds, but }) => {
      const query = db.deleteFrom('sessions').where('user_id', '=', userId).where('kind', 'in', kinds);
      return run(but === undefined ? query : query.where('id', '!=', but));
    },
    touch: (id, usedAt) => run(db.updateTable('sessions').set({ last_used_at: usedAt }).where('id', '=', id)),
    removeExpired: (now) => run(db.deleteFrom('sessions').where('expires_at', '<=', now)),
    removeIdle: (kind, since) =>
      run(db.deleteFrom('sessions').where('kind', '=', kind).where('last_used_at', '<=', since)),
  };
}

export type SessionColumns = Omit<Selectable<Schema['sessions']>, 'token_hash'>;

/** @param row joined with `oauth_sessions`, where the session may be an MCP client's */
export const toSession = (
  row: SessionColumns & { readonly agent_id?: Id<'agt'> | null; readonly client_id?: string | null },
): Session => ({
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
});

export function createCliSessionStore(db: Kysely<Schema>): CliSessionStore {
  const update = db.updateTable('cli_sessions');
  return {
    add: (sessionId, keys) =>
      run(db.insertInto('cli_sessions').values({ session_id: sessionId, ...keyColumns(keys) })),
    find: (familyHash) =>
      first(
        db
          .selectFrom('sessions')
          .innerJoin('cli_sessions', 'cli_sessions.session_id', 'sessions.id')
          .innerJoin('users', 'users.id', 'sessions.user_id')
          .select(SESSION)
          .selectAll('cli_sessions')
          .select('users.role')
          .where('token_hash', '=', familyHash)
          .where('users.deleted_at', 'is', null),
        (row) => ({ session: toSession(row), role: row.role, keys: toKeys(row), previous: toPrevious(row) }),
      ),
    rotate: (sessionId, next, previous) =>
      run(
        update
          .set({
            ...keyColumns(next),
            ...formerRefresh(previous),
            former_access_hash: previous.accessHash ?? null,
            former_access_expires_at: previous.accessExpiresAt ?? null,
          })
          .where('session_id', '=', sessionId),
      ),
    evictExpiredAccess: async (now) => {
      await run(
        update
          .set({ access_hash: null })
          .where('access_expires_at', '<=', now)
          .where('access_hash', 'is not', null),
      );
      await run(
        update
          .set({ former_access_hash: null, former_access_expires_at: null })
          .where('former_access_expires_at', '<=', now),
      );
    },
  };
}

type CliSessionRow = Selectable<Schema['cli_sessions']>;
type FormerRefresh = Pick<CliSessionRow, 'former_refresh_hash' | 'rotated_at' | 'rotation_seed_wrapped'>;

const keyColumns = (keys: KeptKeys) => ({
  refresh_hash: keys.refreshHash,
  access_hash: keys.accessHash ?? null,
  access_expires_at: keys.accessExpiresAt,
});

const toKeys = (row: CliSessionRow): KeptKeys => ({
  refreshHash: row.refresh_hash,
  accessHash: row.access_hash ?? undefined,
  accessExpiresAt: row.access_expires_at,
});

function toPrevious(row: CliSessionRow): PreviousKeys | undefined {
  const refresh = previousRefresh(row);
  return (
    refresh && {
      ...refresh,
      accessHash: row.former_access_hash ?? undefined,
      accessExpiresAt: row.former_access_expires_at ?? undefined,
    }
  );
}

export const formerRefresh = (previous: PreviousRefreshToken): FormerRefresh => ({
  former_refresh_hash: previous.refreshHash,
  rotated_at: previous.rotatedAt,
  rotation_seed_wrapped: previous.wrappedSeed,
});

export function previousRefresh(row: FormerRefresh): PreviousRefreshToken | undefined {
  const { former_refresh_hash: refreshHash, rotated_at: rotatedAt, rotation_seed_wrapped: wrappedSeed } = row;
  if (refreshHash === null || rotatedAt === null || wrappedSeed === null) return undefined;
  return { refreshHash, rotatedAt, wrappedSeed };
}
