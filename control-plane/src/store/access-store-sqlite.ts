import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { AccessStore, AccessSubject, ListedGrant } from '../access/access-store.ts';
import { callerColumns } from './subject-parts-sqlite.ts';

/**
 * Prepared statements on the process's own connection: a few µs a read, so there is no cache to go stale.
 *
 * A parameter stands in a subquery of its own where a join or a range depends on it: this SQLite is built with STAT4,
 * plans such a query for the value that is bound, and so would prepare it anew at each call, for five times the cost.
 */
export function createAccessStore(db: SqliteDatabase): AccessStore {
  const find = db.prepare<[string, string], AccessSubject>(
    `SELECT caller.id AS agentId, caller.vault_id AS vaultId, caller.status, caller.last_used_at AS lastUsedAt,
       caller.sealing_key_thumbprint AS sealingKeyThumbprint, v.locked_at AS vaultLockedAt,
       ${callerColumns('agent', 'g.service_name')},
       g.id AS grantId, g.grant_expires_at AS grantExpiresAt, g.refresh_policy AS refreshPolicy,
       w.webhook_id AS webhookId, w.url AS webhookUrl, w.key_id AS keyId, w.key_wrapped AS keyWrapped
     FROM agents caller
     JOIN vaults v ON v.id = caller.vault_id
     LEFT JOIN grants g ON g.agent_id = caller.id AND g.service_name = (SELECT ?)
     LEFT JOIN webhook_links w ON w.vault_id = caller.vault_id AND w.last_seen_at IS NOT NULL
     WHERE caller.key_hash = (SELECT ?)`,
  );
  const list = db.prepare<[string, string], ListedGrant>(
    `SELECT service_name AS serviceName, grant_expires_at AS grantExpiresAt, refresh_policy AS refreshPolicy,
       source_group_id AS sourceGroupId
     FROM grants
     WHERE agent_id = (SELECT ?) AND (grant_expires_at IS NULL OR grant_expires_at > (SELECT ?))
     ORDER BY service_name`,
  );
  return {
    findByKeyHash: (keyHash, serviceName) => find.get(serviceName, keyHash),
    findWithGrants: (keyHash, now) => {
      const subject = find.get('', keyHash);
      return subject && { ...subject, grants: list.all(subject.agentId, now) };
    },
  };
}
