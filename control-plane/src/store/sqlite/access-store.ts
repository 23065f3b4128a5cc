import { setImmediate } from 'node:timers/promises';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { formatTime } from '@svault/shared';
import type {
  AccessStore,
  AgentSubject,
  ListedGrant,
  ProxyAccessStore,
  ProxySubject,
} from '../../access/subject.ts';
import { MAX_AGENTS_COUNTED, MAX_PROXIES_COUNTED } from '../../limits/scopes.ts';

/*
 * Prepared statements on the process's connection: a read takes a few µs, so there is no cache to go stale.
 *
 * A parameter that a join or a range depends on stands in a subquery: this SQLite is built with STAT4, which plans for the
 * bound value and so would prepare the statement anew at each call, for five times the cost.
 */

/**
 * Columns that every subject is read with; `caller` is the row of the agent or proxy.
 *
 * Policies are found by the index of one target at a time, since most targets have none. (A condition with OR over both
 * takes 90 µs where a policy is attached, this one 10.)
 *
 * @param type of the caller
 * @param serviceName the expression of the service that the caller may ask for; null where it may not, so that a token out
 *   of its reach takes the same time as one that does not exist
 */
function callerColumns(type: 'agent' | 'proxy', serviceName: string): string {
  const targets = `(SELECT '${type}' AS type, caller.id AS id UNION ALL SELECT 'token', ${serviceName}) AS target`;
  const ofTarget =
    'ON t.vault_id = caller.vault_id AND t.target_type = target.type AND t.target_id = target.id';
  return `caller.vault_id AS vaultId, caller.last_used_at AS lastUsedAt, v.locked_at AS vaultLockedAt,
   v.revision AS accountRevision, v.access_requests AS accessRequests,
   w.webhook_id AS webhookId, w.url AS webhookUrl, w.key_id AS keyId, w.key_wrapped AS keyWrapped,
   (SELECT count(*) FROM (SELECT 1 FROM agents WHERE vault_id = caller.vault_id AND status = 'active'
     LIMIT ${MAX_AGENTS_COUNTED})) AS activeAgents,
   (SELECT count(*) FROM (SELECT 1 FROM proxies WHERE vault_id = caller.vault_id AND status = 'active'
     LIMIT ${MAX_PROXIES_COUNTED})) AS proxies,
   (SELECT '[' || group_concat('{"target":"' || t.target_type || '","id":"' || p.id || '","name":' ||
       json_quote(p.name) || ',"rules":' || p.rules || '}') || ']'
     FROM ${targets}
     CROSS JOIN policy_attachments t ${ofTarget}
     CROSS JOIN policies p ON p.id = t.policy_id AND p.enabled = 1) AS policies,
   (SELECT '{' || group_concat('"' || t.target_type || ' ' || t.rule_id || '":' || t.used) || '}'
     FROM ${targets}
     CROSS JOIN policy_usage t ${ofTarget}) AS policyUsage`;
}

const CALLER_JOINS = `JOIN vaults v ON v.id = caller.vault_id
   LEFT JOIN webhook_links w ON w.vault_id = caller.vault_id AND w.last_seen_at IS NOT NULL`;

/** @param caller where the agent is found, and what is read of the credential that it shows */
const selectAgent = (caller: { readonly from: string; readonly where: string; readonly shown: string }) =>
  `SELECT ${caller.shown}, caller.id AS agentId, caller.status,
     caller.mcp_enabled AS mcpEnabled, caller.sealing_key_thumbprint AS sealingKeyThumbprint,
     g.id AS grantId, g.grant_expires_at AS grantExpiresAt, g.refresh_policy AS refreshPolicy,
     g.source_group_id AS sourceGroupId,
     (SELECT approval FROM tokens WHERE vault_id = caller.vault_id AND service_name = g.service_name) AS approval,
     ${callerColumns('agent', 'g.service_name')}
   FROM ${caller.from}
   ${CALLER_JOINS}
   LEFT JOIN grants g ON g.agent_id = caller.id AND g.service_name = (SELECT ?)
   WHERE ${caller.where}`;

export function createAccessStore(db: SqliteDatabase): AccessStore {
  const byKey = db.prepare<[string, string], AgentSubject>(
    selectAgent({
      from: 'agents caller',
      where: 'caller.key_hash = (SELECT ?)',
      shown: 'NULL AS credentialExpiresAt, NULL AS sessionId',
    }),
  );
  const bySession = db.prepare<[string, string, string, string], AgentSubject>(
    selectAgent({
      from: `oauth_access_tokens t
   JOIN oauth_sessions s ON s.session_id = t.session_id
   JOIN agents caller ON caller.id = s.agent_id`,
      where: 't.token_hash = (SELECT ?) AND s.audience = (SELECT ?) AND t.expires_at > (SELECT ?)',
      shown: 't.expires_at AS credentialExpiresAt, t.session_id AS sessionId',
    }),
  );
  const list = db.prepare<[string, string], ListedGrant>(
    `SELECT service_name AS serviceName, grant_expires_at AS grantExpiresAt, refresh_policy AS refreshPolicy,
       source_group_id AS sourceGroupId
     FROM grants
     WHERE agent_id = (SELECT ?) AND (grant_expires_at IS NULL OR grant_expires_at > (SELECT ?))
     ORDER BY service_name`,
  );

  const find = (...[credential, serviceName, nowMs]: Parameters<AccessStore['find']>) =>
    credential.kind === 'key'
      ? byKey.get(serviceName, credential.hash)
      : bySession.get(serviceName, credential.hash, credential.audience, formatTime(nowMs));
  return {
    find: (...wanted) => committed(db, () => find(...wanted)),
    findWithGrants: (credential, nowMs) =>
      committed(db, () => {
        const subject = find(credential, '', nowMs);
        return subject && { ...subject, grants: list.all(subject.agentId, formatTime(nowMs)) };
      }),
  };
}

/** Reads what is committed: a transaction that is open on this connection, and may yet be undone, is waited for. */
function committed<T>(db: SqliteDatabase, read: () => T): T | Promise<T> {
  return db.inTransaction ? setImmediate().then(() => committed(db, read)) : read();
}

export function createProxyAccessStore(db: SqliteDatabase): ProxyAccessStore {
  const byKey = db.prepare<[string], ProxySubject>(
    `SELECT caller.id AS proxyId, caller.status AS proxyStatus, caller.upstream_auth_type AS upstreamAuthType, caller.upstream_url AS upstreamUrl,
       caller.service_name AS serviceName, caller.header_templates AS headerTemplates, caller.kind,
       caller.query_templates AS queryTemplates, caller.redirects, caller.region, caller.service, caller.revision,
       caller.delivered_as AS deliveredAs, caller.agent_id AS agentId, a.status AS agentStatus,
       CASE WHEN t.service_name IS NULL THEN NULL WHEN t.upstream_rejected_at IS NULL THEN 0 ELSE 1 END
         AS credentialRejected, ${callerColumns('proxy', 'caller.service_name')}
     FROM proxies caller
     ${CALLER_JOINS}
     LEFT JOIN agents a ON a.id = caller.agent_id
     LEFT JOIN tokens t ON t.vault_id = caller.vault_id AND t.service_name = caller.service_name
     WHERE caller.key_hash = (SELECT ?)`,
  );
  return { find: (keyHash) => committed(db, () => byKey.get(keyHash)) };
}
