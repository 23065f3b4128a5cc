import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { formatTime } from '@svault/shared';
import type { AccessStore, AgentSubject, ListedGrant } from '../../access/subject.ts';
import { callerColumns } from './subject-parts.ts';

/** All that decisions look at. @param caller where the agent is found, and when what it shows expires */
const subjectOf = (caller: {
  readonly from: string;
  readonly where: string;
  readonly expiresAt: string;
}): string =>
  `SELECT caller.id AS agentId, caller.vault_id AS vaultId, caller.status, caller.mcp_enabled AS mcpEnabled,
     ${caller.expiresAt} AS credentialExpiresAt,
     caller.last_used_at AS lastUsedAt, caller.sealing_key_thumbprint AS sealingKeyThumbprint,
     v.locked_at AS vaultLockedAt, ${callerColumns('agent', 'g.service_name')},
     g.id AS grantId, g.grant_expires_at AS grantExpiresAt, g.refresh_policy AS refreshPolicy,
     g.source_group_id AS sourceGroupId,
     w.webhook_id AS webhookId, w.url AS webhookUrl, w.key_id AS keyId, w.key_wrapped AS keyWrapped
   FROM ${caller.from}
   JOIN vaults v ON v.id = caller.vault_id
   LEFT JOIN grants g ON g.agent_id = caller.id AND g.service_name = (SELECT ?)
   LEFT JOIN webhook_links w ON w.vault_id = caller.vault_id AND w.last_seen_at IS NOT NULL
   WHERE ${caller.where}`;

/**
 * Prepared statements on the process's own connection: a few µs a read, so there is no cache to go stale.
 *
 * A parameter stands in a subquery of its own where a join or a range depends on it: this SQLite is built with STAT4,
 * plans such a query for the value that is bound, and so would prepare it anew at each call, for five times the cost.
 */
export function createAccessStore(db: SqliteDatabase): AccessStore {
  const byKey = db.prepare<[string, string], AgentSubject>(
    subjectOf({ from: 'agents caller', where: 'caller.key_hash = (SELECT ?)', expiresAt: 'NULL' }),
  );
  const bySession = db.prepare<[string, string, string, string], AgentSubject>(
    subjectOf({
      from: `oauth_access_tokens t
   JOIN oauth_sessions s ON s.session_id = t.session_id
   JOIN agents caller ON caller.id = s.agent_id`,
      where: 't.token_hash = (SELECT ?) AND s.audience = (SELECT ?) AND t.expires_at > (SELECT ?)',
      expiresAt: 't.expires_at',
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
    find,
    findWithGrants: (credential, nowMs) => {
      const subject = find(credential, '', nowMs);
      return subject && { ...subject, grants: list.all(subject.agentId, formatTime(nowMs)) };
    },
  };
}
