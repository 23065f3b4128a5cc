import { AGENTS_THAT_MATTER, PROXIES_THAT_MATTER } from '../limits/aggregate.ts';

/**
 * Columns that every caller of a credential is read with, where `caller` is the row of the agent or proxy; the same as
 * SQLite's (subject-parts-sqlite.ts).
 *
 * @param type what `caller` is
 * @param serviceName the expression of the service that the caller may ask for; null where it may not
 */
export const callerColumns = (type: 'agent' | 'proxy', serviceName: string): string => {
  const targets = `(VALUES ('${type}', caller.id), ('token', ${serviceName})) AS target(type, id)`;
  const ofTarget = 't.vault_id = caller.vault_id AND t.target_type = target.type AND t.target_id = target.id';
  return `(SELECT count(*) FROM (SELECT 1 FROM agents WHERE vault_id = caller.vault_id AND status = 'active'
     LIMIT ${AGENTS_THAT_MATTER}) AS counted) AS "activeAgents",
   (SELECT count(*) FROM (SELECT 1 FROM proxies WHERE vault_id = caller.vault_id AND status = 'active'
     LIMIT ${PROXIES_THAT_MATTER}) AS counted) AS proxies,
   (SELECT '[' || string_agg('{"target":"' || t.target_type || '","id":"' || p.id || '","name":' ||
       to_json(p.name) || ',"rules":' || p.rules || '}', ',') || ']'
     FROM ${targets}
     JOIN policy_attachments t ON ${ofTarget}
     JOIN policies p ON p.id = t.policy_id AND p.enabled = 1) AS policies,
   (SELECT '{' || string_agg('"' || t.target_type || ' ' || t.rule_id || '":' || t.used, ',') || '}'
     FROM ${targets}
     JOIN policy_usage t ON ${ofTarget}) AS "policyUsage",
   v.policy_revision AS "policyRevision"`;
};
