import type { Kysely, Selectable } from 'kysely';
import type { Id } from '@svault/shared';
import type { CliLogin, CliLoginStore } from '../../core/cli-login.ts';
import type { Schema } from '../schema.ts';
import { changesRow, first, run } from './queries.ts';
import { type RowOf, toEntity, toRow } from './rows.ts';
import { WAITING_CLI_LOGINS, evictWaiting, rowBytes } from './waiting-rows.ts';

/** Without its approval. */
const LOGIN = [
  'id',
  'code_challenge',
  'redirect_uri',
  'user_code',
  'client',
  'address',
  'expires_at',
] as const;

export function createCliLoginStore(db: Kysely<Schema>): CliLoginStore {
  const updatePending = (id: Id<'clr'>) =>
    db.updateTable('cli_logins').where('id', '=', id).where('user_id', 'is', null);
  return {
    add: (login, addressGroup) => {
      const { codeChallenge, redirectUri, client, address } = login;
      const bytes = rowBytes(codeChallenge, redirectUri, client, address, addressGroup);
      return run(db.insertInto('cli_logins').values(toRow({ ...login, addressGroup, bytes })));
    },
    findPending: (id, now) =>
      first(
        db
          .selectFrom('cli_logins')
          .select(LOGIN)
          .where('id', '=', id)
          .where('user_id', 'is', null)
          .where('expires_at', '>', now),
        toEntity,
      ),
    approve: (id, now, { vaultId, userId, codeHash, expiresAt }) =>
      changesRow(
        updatePending(id).set(toRow({ vaultId, userId, codeHash, expiresAt })).where('expires_at', '>', now),
      ),
    deny: (id) => changesRow(db.deleteFrom('cli_logins').where('id', '=', id).where('user_id', 'is', null)),
    findApproved: (codeHash) =>
      first(
        db
          .selectFrom('cli_logins')
          .select(LOGIN)
          .select(['vault_id', 'user_id'])
          .where('code_hash', '=', codeHash),
        approved,
      ),
    take: (codeHash) =>
      first(
        db
          .deleteFrom('cli_logins')
          .where('code_hash', '=', codeHash)
          .returning(LOGIN)
          .returning(['vault_id', 'user_id']),
        approved,
      ),
    removeOfUser: (userId) => run(db.deleteFrom('cli_logins').where('user_id', '=', userId)),
    removeExpired: (now) => run(db.deleteFrom('cli_logins').where('expires_at', '<=', now)),
    noteAsked: (id, at) => run(updatePending(id).set({ asked_at: at })),
    evictWaiting: (bounds) => evictWaiting(db, WAITING_CLI_LOGINS, bounds),
  };
}

const approved = ({
  vault_id: vaultId,
  user_id: userId,
  ...login
}: RowOf<CliLogin> & Pick<Selectable<Schema['cli_logins']>, 'vault_id' | 'user_id'>) =>
  vaultId === null || userId === null ? undefined : { ...toEntity(login), vaultId, userId };
