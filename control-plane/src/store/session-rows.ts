import type { Selectable } from 'kysely';
import type { Session } from '../accounts/session-store.ts';
import type { Schema } from './schema.ts';

export function toSession(row: Selectable<Schema['sessions']>): Session {
  return {
    id: row.id,
    vaultId: row.vault_id,
    userId: row.user_id,
    kind: row.kind,
    method: row.method ?? 'link',
    client: row.client,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}
