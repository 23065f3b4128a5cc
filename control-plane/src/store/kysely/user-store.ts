import type { Kysely, Selectable } from 'kysely';
import { pageOf } from '../../core/paging.ts';
import type {
  IdentityStore,
  LoginLink,
  LoginLinkStore,
  PasswordStore,
  User,
  UserStore,
} from '../../core/user.ts';
import type { Schema } from '../schema/schema.ts';
import { afterKey } from './pagination.ts';

export function createUserStore(db: Kysely<Schema>): UserStore {
  const users = db.selectFrom('users').selectAll().where('deleted_at', 'is', null);
  return {
    add: async (user) => {
      const row = {
        id: user.id,
        vault_id: user.vaultId,
        email: user.email,
        role: user.role,
        is_owner: user.isOwner ? 1 : 0,
        created_at: user.createdAt,
      } as const;
      await db.insertInto('users').values(row).execute();
    },
    get: async (vaultId, id) => {
      const row = await users.where('vault_id', '=', vaultId).where('id', '=', id).executeTakeFirst();
      return row && toUser(row);
    },
    findByEmail: async (email) => {
      const row = await users.where('email', '=', email).executeTakeFirst();
      return row && toUser(row);
    },
    list: async (vaultId, page) => {
      const rows = await users
        .where('vault_id', '=', vaultId)
        .where(afterKey(['created_at', 'id'], page))
        .orderBy('created_at')
        .orderBy('id')
        .limit(page.limit + 1)
        .execute();
      return pageOf(rows.map(toUser), page.limit, ({ createdAt, id }) => [createdAt, id]);
    },
    ownerOf: async (vaultId) => {
      const row = await users.where('vault_id', '=', vaultId).where('is_owner', '=', 1).executeTakeFirst();
      return row && toUser(row);
    },
    owners: async () => {
      const rows = await users.where('is_owner', '=', 1).orderBy('created_at').orderBy('id').execute();
      return rows.map(toUser);
    },
    setEmail: async (vaultId, id, email) => {
      await db
        .updateTable('users')
        .set({ email })
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .execute();
    },
    setRole: async (vaultId, id, role) => {
      await db
        .updateTable('users')
        .set({ role })
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .execute();
    },
    markDeleted: async (vaultId, id, deletedAt) => {
      await db
        .updateTable('users')
        // An id has no at sign, so it equals no address.
        .set({ email: id, role: 'member', deleted_at: deletedAt })
        .where('vault_id', '=', vaultId)
        .where('id', '=', id)
        .execute();
    },
  };
}

type UserRow = Omit<Selectable<Schema['users']>, 'deleted_at'>;

function toUser(row: UserRow): User {
  return {
    id: row.id,
    vaultId: row.vault_id,
    email: row.email,
    role: row.role,
    isOwner: row.is_owner === 1,
    createdAt: row.created_at,
  };
}

export function createLoginLinkStore(db: Kysely<Schema>): LoginLinkStore {
  return {
    add: async ({ tokenHash, vaultId, userId, expiresAt }) => {
      const row = { token_hash: tokenHash, vault_id: vaultId, user_id: userId, expires_at: expiresAt };
      await db.insertInto('login_links').values(row).execute();
    },
    find: async (tokenHash) =>
      toLink(
        await db.selectFrom('login_links').selectAll().where('token_hash', '=', tokenHash).executeTakeFirst(),
      ),
    take: async (tokenHash) =>
      toLink(
        await db
          .deleteFrom('login_links')
          .where('token_hash', '=', tokenHash)
          .returningAll()
          .executeTakeFirst(),
      ),
    removeOfUser: async (userId) => {
      await db.deleteFrom('login_links').where('user_id', '=', userId).execute();
    },
    removeExpired: async (now) => {
      await db.deleteFrom('login_links').where('expires_at', '<=', now).execute();
    },
  };
}

function toLink(row: Selectable<Schema['login_links']> | undefined): LoginLink | undefined {
  return row && { vaultId: row.vault_id, userId: row.user_id, expiresAt: row.expires_at };
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
    find: async (userId) => {
      const row = await db
        .selectFrom('passwords')
        .select('password_hash')
        .where('user_id', '=', userId)
        .executeTakeFirst();
      return row?.password_hash;
    },
    set: async (userId, passwordHash, changedAt) => {
      const row = { password_hash: passwordHash, changed_at: changedAt };
      await db
        .insertInto('passwords')
        .values({ user_id: userId, ...row })
        .onConflict((conflict) => conflict.column('user_id').doUpdateSet(row))
        .execute();
    },
    remove: async (userId) => {
      await db.deleteFrom('passwords').where('user_id', '=', userId).execute();
    },
  };
}

export function createIdentityStore(db: Kysely<Schema>): IdentityStore {
  return {
    findUser: async ({ issuer, subject }) => {
      const row = await db
        .selectFrom('identities')
        .innerJoin('users', 'users.id', 'identities.user_id')
        .selectAll('users')
        .where('issuer', '=', issuer)
        .where('subject', '=', subject)
        .where('users.deleted_at', 'is', null)
        .executeTakeFirst();
      return row && toUser(row);
    },
    has: async (userId, issuer) => {
      const row = await db
        .selectFrom('identities')
        .select('subject')
        .where('user_id', '=', userId)
        .where('issuer', '=', issuer)
        .executeTakeFirst();
      return row !== undefined;
    },
    bind: async ({ issuer, subject }, userId, createdAt) => {
      const row = { issuer, subject, user_id: userId, created_at: createdAt };
      await db.insertInto('identities').values(row).execute();
    },
    removeOfUser: async (userId) => {
      await db.deleteFrom('identities').where('user_id', '=', userId).execute();
    },
  };
}
