import type { AccessStore, AccessSubject, ListingSubject } from '../access/access-store.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { callerColumns } from './subject-parts-postgres.ts';

/** All that a decision looks at, by the hash of the agent's key as `$1` and the name of the service as `$2`. */
const subject = (serviceName: string, more = ''): string =>
  `SELECT caller.id AS "agentId", caller.vault_id AS "vaultId", caller.status,
      caller.last_used_at AS "lastUsedAt", caller.sealing_key_thumbprint AS "sealingKeyThumbprint",
      v.locked_at AS "vaultLockedAt", ${callerColumns('agent', 'g.service_name')},
      g.id AS "grantId", g.grant_expires_at AS "grantExpiresAt", g.refresh_policy AS "refreshPolicy",
      w.webhook_id AS "webhookId", w.url AS "webhookUrl", w.key_id AS "keyId", w.key_wrapped AS "keyWrapped"${more}
    FROM agents caller
    JOIN vaults v ON v.id = caller.vault_id
    LEFT JOIN grants g ON g.agent_id = caller.id AND g.service_name = ${serviceName}
    LEFT JOIN webhook_links w ON w.vault_id = caller.vault_id AND w.last_seen_at IS NOT NULL
    WHERE caller.key_hash = $1`;

/** One round trip each, planned once per connection for whatever is asked for. */
const FIND = { name: 'svault_find_agent', text: subject('$2'), onlyReads: true };

const LIST = {
  name: 'svault_find_agent_and_grants',
  text: subject(
    "''",
    `,
      coalesce((SELECT json_agg(json_build_object('serviceName', l.service_name, 'grantExpiresAt', l.grant_expires_at,
          'refreshPolicy', l.refresh_policy, 'sourceGroupId', l.source_group_id) ORDER BY l.service_name)
        FROM grants l
        WHERE l.agent_id = caller.id AND (l.grant_expires_at IS NULL OR l.grant_expires_at > $2)), '[]') AS grants`,
  ),
  onlyReads: true,
};

export function createAccessStore(pool: Pick<PostgresPool, 'run'>): AccessStore {
  return {
    findByKeyHash: async (keyHash, serviceName) =>
      (await pool.run<AccessSubject>(FIND, [keyHash, serviceName]))[0],
    findWithGrants: async (keyHash, now) => (await pool.run<ListingSubject>(LIST, [keyHash, now]))[0],
  };
}
