import type { Id } from '@svault/shared';
import type { Kysely, Selectable } from 'kysely';
import type {
  AccessToken,
  OauthCodeStore,
  OauthSession,
  OauthSessionStore,
} from '../../core/oauth-session.ts';
import type { Schema } from '../schema.ts';
import { all, first, run } from './queries.ts';
import { toEntity, toRow } from './rows.ts';
import { SESSION, type SessionColumns, formerRefresh, previousRefresh, toSession } from './session-store.ts';

export function createOauthCodeStore(db: Kysely<Schema>): OauthCodeStore {
  return {
    add: (code) => run(db.insertInto('oauth_codes').values(toRow(code))),
    find: (codeHash) =>
      first(db.selectFrom('oauth_codes').selectAll().where('code_hash', '=', codeHash), toEntity),
    take: (codeHash) =>
      first(db.deleteFrom('oauth_codes').where('code_hash', '=', codeHash).returningAll(), toEntity),
    removeOfUser: (userId) => run(db.deleteFrom('oauth_codes').where('user_id', '=', userId)),
    removeExpired: (now) => run(db.deleteFrom('oauth_codes').where('expires_at', '<=', now)),
  };
}

export function createOauthSessionStore(db: Kysely<Schema>): OauthSessionStore {
  const sessions = db
    .selectFrom('oauth_sessions')
    .innerJoin('sessions', 'sessions.id', 'oauth_sessions.session_id')
    .select(SESSION)
    .selectAll('oauth_sessions');
  const addAccess = (sessionId: Id<'ses'>, { tokenHash, issuedAt, expiresAt }: AccessToken) => {
    const row = toRow({ sessionId, tokenHash, issuedAt, expiresAt });
    return run(db.insertInto('oauth_access_tokens').values(row));
  };
  return {
    add: async ({ sessionId, agentId, clientId, audience, codeHash, refreshHash }, access) => {
      const row = toRow({ sessionId, agentId, clientId, audience, codeHash, refreshHash });
      await run(db.insertInto('oauth_sessions').values(row));
      await addAccess(sessionId, access);
    },
    find: (familyHash) => first(sessions.where('sessions.token_hash', '=', familyHash), toOauthSession),
    findByCode: (codeHash) =>
      first(sessions.where('oauth_sessions.code_hash', '=', codeHash), toOauthSession),
    findByAccess: (tokenHash) =>
      first(
        sessions
          .innerJoin('oauth_access_tokens', 'oauth_access_tokens.session_id', 'oauth_sessions.session_id')
          .where('oauth_access_tokens.token_hash', '=', tokenHash),
        toOauthSession,
      ),
    ofClient: (vaultId, clientId) =>
      all(
        sessions.where('oauth_sessions.client_id', '=', clientId).where('sessions.vault_id', '=', vaultId),
        toOauthSession,
      ),
    addAccess,
    rotate: async (sessionId, { refreshHash, access }, previous) => {
      await run(
        db
          .updateTable('oauth_sessions')
          .set({ refresh_hash: refreshHash, ...formerRefresh(previous) })
          .where('session_id', '=', sessionId),
      );
      await addAccess(sessionId, access);
    },
    introspect: (tokenHash) =>
      db
        .selectFrom('oauth_access_tokens as token')
        .innerJoin('oauth_sessions', 'oauth_sessions.session_id', 'token.session_id')
        .innerJoin('agents', 'agents.id', 'oauth_sessions.agent_id')
        .select([
          'agents.id as agentId',
          'agents.status as agentStatus',
          'oauth_sessions.client_id as clientId',
          'oauth_sessions.audience as audience',
          'token.issued_at as issuedAt',
          'token.expires_at as expiresAt',
        ])
        .where('token.token_hash', '=', tokenHash)
        .executeTakeFirst(),
    evictExpiredAccess: (now) => run(db.deleteFrom('oauth_access_tokens').where('expires_at', '<=', now)),
  };
}

const toOauthSession = (row: SessionColumns & Selectable<Schema['oauth_sessions']>): OauthSession => ({
  session: toSession(row),
  agentId: row.agent_id,
  clientId: row.client_id,
  audience: row.audience,
  refreshHash: row.refresh_hash ?? undefined,
  previous: previousRefresh(row),
});
