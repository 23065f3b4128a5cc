import type { Selectable } from 'kysely';
import type { Id } from '@svault/shared';
import type { Session } from '../../core/session.ts';
import type { Schema } from '../schema/schema.ts';

/** @param row with what an MCP client's session has besides, where that was asked for */
export function toSession(
  row: Selectable<Schema['sessions']> & {
    readonly agent_id?: Id<'agt'> | null;
    readonly client_id?: string | null;
  },
): Session {
  return {
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
  };
}
