import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { ProxyAccessStore, ProxySubject } from '../../access/subject.ts';
import { callerColumns } from './subject-parts.ts';

/** One prepared statement on the process's own connection, so there is no cache to go stale. */
export function createProxyAccessStore(db: SqliteDatabase): ProxyAccessStore {
  const byKey = db.prepare<[string], ProxySubject>(
    `SELECT caller.id AS proxyId, caller.vault_id AS vaultId, caller.upstream_auth_type AS upstreamAuthType,
       caller.upstream_url AS upstreamUrl, caller.service_name AS serviceName,
       caller.header_templates AS headerTemplates, caller.revision, caller.delivered_as AS deliveredAs,
       caller.agent_id AS agentId, a.status AS agentStatus, caller.last_used_at AS lastUsedAt,
       CASE WHEN t.service_name IS NULL THEN NULL WHEN t.upstream_rejected_at IS NULL THEN 0 ELSE 1 END
         AS credentialRejected,
       v.locked_at AS vaultLockedAt, ${callerColumns('proxy', 'caller.service_name')},
       w.webhook_id AS webhookId, w.url AS webhookUrl, w.key_id AS keyId, w.key_wrapped AS keyWrapped
     FROM proxies caller
     JOIN vaults v ON v.id = caller.vault_id
     LEFT JOIN agents a ON a.id = caller.agent_id
     LEFT JOIN webhook_links w ON w.vault_id = caller.vault_id AND w.last_seen_at IS NOT NULL
     LEFT JOIN tokens t ON t.vault_id = caller.vault_id AND t.service_name = caller.service_name
     WHERE caller.key_hash = (SELECT ?) AND caller.status = 'active'`,
  );
  return { find: (keyHash) => byKey.get(keyHash) };
}
