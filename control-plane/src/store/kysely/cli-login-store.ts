import type { Kysely, Selectable } from 'kysely';
import type { ApprovedCliLogin, CliLogin, CliLoginStore } from '../../core/cli-login.ts';
import type { Schema } from '../schema/schema.ts';
import { WAITING_CLI_LOGINS, evictWaiting, rowBytes } from './waiting-rows.ts';

export function createCliLoginStore(db: Kysely<Schema>): CliLoginStore {
  return {
    add: async (login, addressGroup) => {
      const row = {
        id: login.id,
        code_challenge: login.codeChallenge,
        redirect_uri: login.redirectUri ?? null,
        user_code: login.userCode,
        client: login.client,
        address: login.address ?? null,
        expires_at: login.expiresAt,
        address_group: addressGroup,
        bytes: rowBytes(login.codeChallenge, login.redirectUri, login.client, login.address, addressGroup),
      };
      await db.insertInto('cli_logins').values(row).execute();
    },
    findPending: async (id, now) => {
      const row = await db
        .selectFrom('cli_logins')
        .selectAll()
        .where('id', '=', id)
        .where('user_id', 'is', null)
        .where('expires_at', '>', now)
        .executeTakeFirst();
      return row && toLogin(row);
    },
    approve: async (id, now, { vaultId, userId, codeHash, expiresAt }) => {
      const { numUpdatedRows } = await db
        .updateTable('cli_logins')
        .set({ vault_id: vaultId, user_id: userId, code_hash: codeHash, expires_at: expiresAt })
        .where('id', '=', id)
        .where('user_id', 'is', null)
        .where('expires_at', '>', now)
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },
    deny: async (id) => {
      const { numDeletedRows } = await db
        .deleteFrom('cli_logins')
        .where('id', '=', id)
        .where('user_id', 'is', null)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
    findApproved: async (codeHash) =>
      toApproved(
        await db.selectFrom('cli_logins').selectAll().where('code_hash', '=', codeHash).executeTakeFirst(),
      ),
    take: async (codeHash) =>
      toApproved(
        await db.deleteFrom('cli_logins').where('code_hash', '=', codeHash).returningAll().executeTakeFirst(),
      ),
    removeOfUser: async (userId) => {
      await db.deleteFrom('cli_logins').where('user_id', '=', userId).execute();
    },
    removeExpired: async (now) => {
      await db.deleteFrom('cli_logins').where('expires_at', '<=', now).execute();
    },
    noteAsked: async (id, at) => {
      await db
        .updateTable('cli_logins')
        .set({ asked_at: at })
        .where('id', '=', id)
        .where('user_id', 'is', null)
        .execute();
    },
    evictWaiting: (bounds) => evictWaiting(db, WAITING_CLI_LOGINS, bounds),
  };
}

type Row = Selectable<Schema['cli_logins']>;

function toApproved(row: Row | undefined): ApprovedCliLogin | undefined {
  if (row === undefined || row.vault_id === null || row.user_id === null) return undefined;
  return { ...toLogin(row), vaultId: row.vault_id, userId: row.user_id };
}

function toLogin(row: Row): CliLogin {
  return {
    id: row.id,
    codeChallenge: row.code_challenge,
    redirectUri: row.redirect_uri ?? undefined,
    userCode: row.user_code,
    client: row.client,
    address: row.address ?? undefined,
    expiresAt: row.expires_at,
  };
}
