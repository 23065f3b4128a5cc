import type { AccessStore, AccessSubject, ListedGrant } from '../access/access-store.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { callerColumns } from './subject-parts-postgres.ts';

/** One round trip for all that a decision looks at. Planned once per connection, for whatever is asked for. */
const FIND = {
  name: 'svault_find_agent',
  text: `SELECT caller.id AS "agentId", caller.vault_id AS "vaultId", caller.status,
      caller.last_used_at AS "lastUsedAt", caller.sealing_key_thumbprint AS "sealingKeyThumbprint",
      v.locked_at AS "vaultLockedAt", ${callerColumns('agent', '$2')},
      g.id AS "grantId", g.grant_expires_at AS "grantExpiresAt", g.refresh_policy AS "refreshPolicy",
      w.webhook_id AS "webhookId", w.url AS "webhookUrl", w.key_id AS "keyId", w.key_wrapped AS "keyWrapped"
    FROM agents caller
    JOIN vaults v ON v.id = caller.vault_id
    LEFT JOIN grants g ON g.agent_id = caller.id AND g.service_name = $2
    LEFT JOIN webhook_links w ON w.vault_id = caller.vault_id AND w.last_seen_at IS NOT NULL
    WHERE caller.key_hash = $1`,
};

const LIST = {
  name: 'svault_live_grants',
  text: `SELECT service_name AS "serviceName", grant_expires_at AS "grantExpiresAt",
      refresh_policy AS "refreshPolicy", source_group_id AS "sourceGroupId"
    FROM grants
    WHERE agent_id = $1 AND (grant_expires_at IS NULL OR grant_expires_at > $2)
    ORDER BY service_name`,
};

export function createAccessStore(pool: Pick<PostgresPool, 'run'>): AccessStore {
  return {
    findByKeyHash: async (keyHash, serviceName) =>
      (await pool.run<AccessSubject>(FIND, [keyHash, serviceName]))[0],
    liveGrants: (agentId, now) => pool.run<ListedGrant>(LIST, [agentId, now]),
  };
}
