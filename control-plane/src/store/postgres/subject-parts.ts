import { MAX_AGENTS_COUNTED, MAX_PROXIES_COUNTED } from '../../limits/scopes.ts';

/**
 * Columns that every caller of a credential is read with, where `caller` is the row of the agent or proxy; the same as
 * SQLite's (subject-parts-sqlite.ts).
 *
 * @param type what `caller` is
 * @param serviceName the expression of the service that the caller may ask for; null where it may not
 */
export const callerColumns = (type: 'agent' | 'proxy', serviceName: string): string => {
  const targets = `(VALUES ('${type}', caller.id), ('token', ${serviceName})) AS target(type, id)`;
  // Offset 0 changes no answer; with it each target is looked up by the whole index, and not all of the vault filtered.
  const ofTarget = (table: string): string => `CROSS JOIN LATERAL (SELECT * FROM ${table}
       WHERE vault_id = caller.vault_id AND target_type = target.type AND target_id = target.id OFFSET 0) AS t`;
  return `(SELECT count(*) FROM (SELECT 1 FROM agents WHERE vault_id = caller.vault_id AND status = 'active'
     LIMIT ${MAX_AGENTS_COUNTED}) AS counted) AS "activeAgents",
   (SELECT count(*) FROM (SELECT 1 FROM proxies WHERE vault_id = caller.vault_id AND status = 'active'
     LIMIT ${MAX_PROXIES_COUNTED}) AS counted) AS proxies,
   (SELECT '[' || string_agg('{"target":"' || t.target_type || '","id":"' || p.id || '","name":' ||
       to_json(p.name) || ',"rules":' || p.rules || '}', ',') || ']'
     FROM ${targets}
     ${ofTarget('policy_attachments')}
     CROSS JOIN LATERAL (SELECT * FROM policies WHERE id = t.policy_id AND enabled = 1 OFFSET 0) AS p) AS policies,
   (SELECT '{' || string_agg('"' || t.target_type || ' ' || t.rule_id || '":' || t.used, ',') || '}'
     FROM ${targets}
     ${ofTarget('policy_usage')}) AS "policyUsage",
   v.revision AS "accountRevision"`;
};
