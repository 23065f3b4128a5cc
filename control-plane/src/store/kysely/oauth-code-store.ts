import type { Kysely, Selectable } from 'kysely';
import type { OauthCode, OauthCodeStore } from '../../core/oauth-session.ts';
import type { Schema } from '../schema/schema.ts';

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
