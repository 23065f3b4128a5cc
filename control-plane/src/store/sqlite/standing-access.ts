import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { formatTime } from '@svault/shared';
import type { AccessPrecondition, AgentPrecondition, ProxyPrecondition } from '../../audit/audit-writer.ts';

/** Of the agent `a`, however it was found. */
const STANDS = `JOIN vaults v ON v.id = a.vault_id
     JOIN grants g ON g.id = (SELECT ?) AND g.agent_id = a.id
     JOIN webhook_links w ON w.vault_id = a.vault_id
     WHERE a.status = 'active' AND a.mcp_enabled >= (SELECT ?) AND v.locked_at IS NULL
       AND v.policy_revision = (SELECT ?) AND w.webhook_id = (SELECT ?)`;

type Stands = readonly [grantId: string, mcpEnabled: 0 | 1, policyRevision: number, webhookId: string];

/** Whether what an access rests on holds at this moment: asked within the transaction that writes the access down. */
export function createStandingCheck(
  db: SqliteDatabase,
): (access: AccessPrecondition, nowMs: number) => boolean {
  const ofKey = db.prepare<[...Stands, string]>(
    `SELECT 1 FROM agents a
     ${STANDS} AND a.key_hash = (SELECT ?)`,
  );
  const ofSession = db.prepare<[...Stands, string, string, string]>(
    `SELECT 1 FROM oauth_access_tokens t
     JOIN oauth_sessions s ON s.session_id = t.session_id
     JOIN agents a ON a.id = s.agent_id
     ${STANDS} AND t.token_hash = (SELECT ?) AND s.audience = (SELECT ?) AND t.expires_at > (SELECT ?)`,
  );
  const ofProxy = db.prepare<[string, number, string | null, number, string | null, string | null]>(
    `SELECT 1 FROM proxies p
     JOIN vaults v ON v.id = p.vault_id
     LEFT JOIN agents a ON a.id = p.agent_id
     LEFT JOIN webhook_links w ON w.vault_id = p.vault_id
     WHERE p.key_hash = (SELECT ?) AND p.status = 'active' AND p.revision = (SELECT ?)
       AND p.agent_id IS (SELECT ?) AND (p.agent_id IS NULL OR a.status = 'active')
       AND v.locked_at IS NULL AND v.policy_revision = (SELECT ?)
       AND ((SELECT ?) IS NULL OR w.webhook_id = (SELECT ?))`,
  );
  const agentStands = (access: AgentPrecondition, nowMs: number): boolean => {
    const { credential, withMcpOn, grantId, policyRevision, webhookId } = access;
    const values: Stands = [grantId, withMcpOn ? 1 : 0, policyRevision, webhookId];
    const row =
      credential.kind === 'key'
        ? ofKey.get(...values, credential.hash)
        : ofSession.get(...values, credential.hash, credential.audience, formatTime(nowMs));
    return row !== undefined;
  };
  const proxyStands = (use: ProxyPrecondition): boolean => {
    const { keyHash, revision, agentId, policyRevision, webhookId } = use;
    return ofProxy.get(keyHash, revision, agentId, policyRevision, webhookId, webhookId) !== undefined;
  };
  return (access, nowMs) => (access.caller === 'agent' ? agentStands(access, nowMs) : proxyStands(access));
}
