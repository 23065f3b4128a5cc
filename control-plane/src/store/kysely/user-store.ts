import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import { nameKey } from '../../core/name.ts';
import type { IdentityStore, LoginLinkStore, PasswordStore, User, UserStore } from '../../core/user.ts';
import type { Schema } from '../schema.ts';
import { all, first, nameContains, pageBy, run } from './queries.ts';
import { type RowOf, toEntity, toRow } from './rows.ts';

const USER = [
  'users.id',
  'users.vault_id',
  'users.email',
  'users.role',
  'users.is_owner',
  'users.created_at',
] as const;

const toUser = (row: RowOf<User>): User => ({ ...toEntity(row), isOwner: row.is_owner === 1 });

export function createUserStore(db: Kysely<Schema>): UserStore {
  const users = db.selectFrom('users').select(USER).where('deleted_at', 'is', null);
  const owners = users.where('is_owner', '=', 1);
  const update = (vaultId: Id<'vlt'>, id: Id<'usr'>) =>
    db.updateTable('users').where('vault_id', '=', vaultId).where('id', '=', id);
  return {
    add: (user) => run(db.insertInto('users').values({ ...toRow(user), name_key: nameKey(user.email) })),
    get: (vaultId, id) => first(users.where('vault_id', '=', vaultId).where('id', '=', id), toUser),
    findByEmail: (email) => first(users.where('email', '=', email), toUser),
    list: (vaultId, page) =>
      pageBy(
        ['created_at', 'id'],
        users.where('vault_id', '=', vaultId),
        page,
        toUser,
        nameContains(page.name),
      ),
    ownerOf: (vaultId) => first(owners.where('vault_id', '=', vaultId), toUser),
    owners: () => all(owners.orderBy('created_at').orderBy('id'), toUser),
    setEmail: (vaultId, id, email) => run(update(vaultId, id).set({ email, name_key: nameKey(email) })),
    setRole: (vaultId, id, role) => run(update(vaultId, id).set({ role })),
    markDeleted: (vaultId, id, deletedAt) =>
      // An id has no at sign, so it equals no address.
      run(update(vaultId, id).set({ email: id, role: 'member', deleted_at: deletedAt })),
  };
}

export function createLoginLinkStore(db: Kysely<Schema>): LoginLinkStore {
  const link = ['vault_id', 'user_id', 'expires_at'] as const;
  return {
    add: (added) => run(db.insertInto('login_links').values(toRow(added))),
    find: (tokenHash) =>
      first(db.selectFrom('login_links').select(link).where('token_hash', '=', tokenHash), toEntity),
    take: (tokenHash) =>
      first(db.deleteFrom('login_links').where('token_hash', '=', tokenHash).returning(link), toEntity),
    removeOfUser: (userId) => run(db.deleteFrom('login_links').where('user_id', '=', userId)),
    removeExpired: (now) => run(db.deleteFrom('login_links').where('expires_at', '<=', now)),
  };
}

export function createPasswordStore(db: Kysely<Schema>): PasswordStore {
  return {
    findByEmail: (email) =>
      db
        .selectFrom('users')
        .innerJoin('passwords', 'passwords.user_id', 'users.id')
        .select(['users.id as userId', 'users.vault_id as vaultId', 'password_hash as passwordHash'])
        .where('users.email', '=', email)
        .where('users.deleted_at', 'is', null)
        .executeTakeFirst(),
    find: (userId) =>
      first(
        db.selectFrom('passwords').select('password_hash').where('user_id', '=', userId),
        (row) => row.password_hash,
      ),
    set: (userId, passwordHash, changedAt) => {
      const row = { password_hash: passwordHash, changed_at: changedAt };
      return run(
        db
          .insertInto('passwords')
          .values({ user_id: userId, ...row })
          .onConflict((conflict) => conflict.column('user_id').doUpdateSet(row)),
      );
    },
    remove: (userId) => run(db.deleteFrom('passwords').where('user_id', '=', userId)),
  };
}

export function createIdentityStore(db: Kysely<Schema>): IdentityStore {
  return {
    findUser: ({ issuer, subject }) =>
      first(
        db
          .selectFrom('identities')
          .innerJoin('users', 'users.id', 'identities.user_id')
          .select(USER)
          .where('issuer', '=', issuer)
          .where('subject', '=', subject)
          .where('users.deleted_at', 'is', null),
        toUser,
      ),
    has: async (userId, issuer) => {
      const identity = db.selectFrom('identities').select('subject');
      const row = await identity
        .where('user_id', '=', userId)
        .where('issuer', '=', issuer)
        .executeTakeFirst();
      return row !== undefined;
    },
    bind: ({ issuer, subject }, userId, createdAt) =>
      run(db.insertInto('identities').values(toRow({ issuer, subject, userId, createdAt }))),
    removeOfUser: (userId) => run(db.deleteFrom('identities').where('user_id', '=', userId)),
  };
}
