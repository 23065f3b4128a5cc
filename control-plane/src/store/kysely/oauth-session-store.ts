import type { Id } from '@svault/shared';
import type { Kysely, Selectable } from 'kysely';
import type {
  AccessToken,
  OauthCode,
  OauthCodeStore,
  OauthSession,
  OauthSessionStore,
} from '../../core/oauth-session.ts';
import type { PreviousRefreshToken } from '../../core/session.ts';
import type { Schema } from '../schema/schema.ts';
import { toSession } from './session-store.ts';

export function createOauthCodeStore(db: Kysely<Schema>): OauthCodeStore {
  return {
    add: async (code) => {
      const row = {
        code_hash: code.codeHash,
        vault_id: code.vaultId,
        user_id: code.userId,
        agent_id: code.agentId,
        client_id: code.clientId,
        client_name: code.clientName,
        redirect_uri: code.redirectUri,
        code_challenge: code.codeChallenge,
        audience: code.audience,
        expires_at: code.expiresAt,
      };
      await db.insertInto('oauth_codes').values(row).execute();
    },
    find: async (codeHash) => {
      const row = await db
        .selectFrom('oauth_codes')
        .selectAll()
        .where('code_hash', '=', codeHash)
        .executeTakeFirst();
      return row && toCode(row);
    },
    take: async (codeHash) => {
      const row = await db
        .deleteFrom('oauth_codes')
        .where('code_hash', '=', codeHash)
        .returningAll()
        .executeTakeFirst();
      return row && toCode(row);
    },
    removeOfUser: async (userId) => {
      await db.deleteFrom('oauth_codes').where('user_id', '=', userId).execute();
    },
    removeExpired: async (now) => {
      await db.deleteFrom('oauth_codes').where('expires_at', '<=', now).execute();
    },
  };
}

const toCode = (row: Selectable<Schema['oauth_codes']>): OauthCode => ({
  codeHash: row.code_hash,
  vaultId: row.vault_id,
  userId: row.user_id,
  agentId: row.agent_id,
  clientId: row.client_id,
  clientName: row.client_name,
  redirectUri: row.redirect_uri,
  codeChallenge: row.code_challenge,
  audience: row.audience,
  expiresAt: row.expires_at,
});

export function createOauthSessionStore(db: Kysely<Schema>): OauthSessionStore {
  const sessions = db
    .selectFrom('oauth_sessions')
    .innerJoin('sessions', 'sessions.id', 'oauth_sessions.session_id')
    .selectAll('sessions')
    .selectAll('oauth_sessions');
  return {
    add: async ({ sessionId, ...session }, access) => {
      const row = {
        session_id: sessionId,
        agent_id: session.agentId,
        client_id: session.clientId,
        audience: session.audience,
        code_hash: session.codeHash ?? null,
        refresh_hash: session.refreshHash ?? null,
      };
      await db.insertInto('oauth_sessions').values(row).execute();
      await db.insertInto('oauth_access_tokens').values(toAccessRow(sessionId, access)).execute();
    },
    find: async (familyHash) => {
      const row = await sessions.where('sessions.token_hash', '=', familyHash).executeTakeFirst();
      return row && toOauthSession(row);
    },
    findByCode: async (codeHash) => {
      const row = await sessions.where('oauth_sessions.code_hash', '=', codeHash).executeTakeFirst();
      return row && toOauthSession(row);
    },
    findByAccess: async (tokenHash) => {
      const row = await sessions
        .innerJoin('oauth_access_tokens', 'oauth_access_tokens.session_id', 'oauth_sessions.session_id')
        .where('oauth_access_tokens.token_hash', '=', tokenHash)
        .executeTakeFirst();
      return row && toOauthSession(row);
    },
    ofClient: async (vaultId, clientId) => {
      const rows = await sessions
        .where('oauth_sessions.client_id', '=', clientId)
        .where('sessions.vault_id', '=', vaultId)
        .execute();
      return rows.map(toOauthSession);
    },
    addAccess: async (sessionId, access) => {
      await db.insertInto('oauth_access_tokens').values(toAccessRow(sessionId, access)).execute();
    },
    rotate: async (sessionId, next, previous) => {
      await db
        .updateTable('oauth_sessions')
        .set({
          refresh_hash: next.refreshHash,
          former_refresh_hash: previous.refreshHash,
          rotated_at: previous.rotatedAt,
          rotation_seed_wrapped: previous.wrappedSeed,
        })
        .where('session_id', '=', sessionId)
        .execute();
      await db.insertInto('oauth_access_tokens').values(toAccessRow(sessionId, next.access)).execute();
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
    evictExpiredAccess: async (now) => {
      await db.deleteFrom('oauth_access_tokens').where('expires_at', '<=', now).execute();
    },
  };
}

const toAccessRow = (sessionId: Id<'ses'>, { tokenHash, issuedAt, expiresAt }: AccessToken) => ({
  token_hash: tokenHash,
  session_id: sessionId,
  issued_at: issuedAt,
  expires_at: expiresAt,
});

function toOauthSession(row: Selectable<Schema['sessions'] & Schema['oauth_sessions']>): OauthSession {
  return {
    session: toSession(row),
    agentId: row.agent_id,
    clientId: row.client_id,
    audience: row.audience,
    refreshHash: row.refresh_hash ?? undefined,
    previous: toPrevious(row),
  };
}

function toPrevious(row: Selectable<Schema['oauth_sessions']>): PreviousRefreshToken | undefined {
  const { former_refresh_hash: refreshHash, rotated_at: rotatedAt, rotation_seed_wrapped: wrappedSeed } = row;
  if (refreshHash === null || rotatedAt === null || wrappedSeed === null) return undefined;
  return { refreshHash, rotatedAt, wrappedSeed };
}
