import type { Selectable } from 'kysely';
import type { User } from '../../core/user.ts';
import type { Schema } from '../schema/schema.ts';

export type UserRow = Omit<Selectable<Schema['users']>, 'deleted_at'>;

export function toUser(row: UserRow): User {
  return {
    id: row.id,
    vaultId: row.vault_id,
    email: row.email,
    role: row.role,
    isOwner: row.is_owner === 1,
    createdAt: row.created_at,
  };
}
