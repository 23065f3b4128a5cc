import { MAX_AGENTS_COUNTED, MAX_PROXIES_COUNTED } from '../../limits/scopes.ts';

/**
 * Columns that every caller of a credential is read with, where `caller` is the row of the agent or proxy.
 *
 * By the index of the target alone, since most have no policy: two probes then find nothing. (A condition with OR over
 * both targets takes 90 µs where a policy is attached, this one 10.)
 *
 * @param type what `caller` is
 * @param serviceName the expression of the service that the caller may ask for; null where it may not, so that a token out
 *   of its reach, with many policies or none, takes no other time than one that is not there
 */
export const callerColumns = (type: 'agent' | 'proxy', serviceName: string): string =>
  `(SELECT count(*) FROM (SELECT 1 FROM agents WHERE vault_id = caller.vault_id AND status = 'active'
     LIMIT ${MAX_AGENTS_COUNTED})) AS activeAgents,
   (SELECT count(*) FROM (SELECT 1 FROM proxies WHERE vault_id = caller.vault_id AND status = 'active'
     LIMIT ${MAX_PROXIES_COUNTED})) AS proxies,
   (SELECT '[' || group_concat('{"target":"' || t.target_type || '","id":"' || p.id || '","name":' ||
       json_quote(p.name) || ',"rules":' || p.rules || '}') || ']'
     FROM ${targets(type, serviceName)}
     CROSS JOIN policy_attachments t ${ofTarget}
     CROSS JOIN policies p ON p.id = t.policy_id AND p.enabled = 1) AS policies,
   (SELECT '{' || group_concat('"' || t.target_type || ' ' || t.rule_id || '":' || t.used) || '}'
     FROM ${targets(type, serviceName)}
     CROSS JOIN policy_usage t ${ofTarget}) AS policyUsage,
   v.revision AS accountRevision`;

const targets = (type: 'agent' | 'proxy', serviceName: string): string =>
  `(SELECT '${type}' AS type, caller.id AS id UNION ALL SELECT 'token', ${serviceName}) AS target`;

const ofTarget =
  'ON t.vault_id = caller.vault_id AND t.target_type = target.type AND t.target_id = target.id';
