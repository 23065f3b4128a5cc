import { StorageFailure } from '@svault/server-kit/storage-failure';
import { type Clock, formatTime } from '@svault/shared';
import type {
  AccessStore,
  AgentSubject,
  ListingSubject,
  ProxyAccessStore,
  ProxySubject,
} from '../../access/subject.ts';
import type { AgentCredential } from '../../core/agent.ts';
import { MAX_AGENTS_COUNTED, MAX_PROXIES_COUNTED } from '../../limits/scopes.ts';
import { createBatcher } from './batcher.ts';
import type { NamedStatement, PostgresPool } from './postgres-pool.ts';

/**
 * Columns that every subject is read with; `caller` is the row of the agent or proxy. The same as SQLite's.
 *
 * @param type of the caller
 * @param serviceName the expression of the service that the caller may ask for; null where it may not
 */
function callerColumns(type: 'agent' | 'proxy', serviceName: string): string {
  const targets = `(VALUES ('${type}', caller.id), ('token', ${serviceName})) AS target(type, id)`;
  // Offset 0 changes no result; with it each target is looked up by the whole index, and not all of the vault filtered.
  const ofTarget = (table: string): string => `CROSS JOIN LATERAL (SELECT * FROM ${table}
       WHERE vault_id = caller.vault_id AND target_type = target.type AND target_id = target.id OFFSET 0) AS t`;
  return `caller.vault_id AS "vaultId", caller.last_used_at AS "lastUsedAt", v.locked_at AS "vaultLockedAt",
   v.revision AS "accountRevision", v.access_requests AS "accessRequests",
   w.webhook_id AS "webhookId", w.url AS "webhookUrl", w.key_id AS "keyId", w.key_wrapped AS "keyWrapped",
   (SELECT count(*) FROM (SELECT 1 FROM agents WHERE vault_id = caller.vault_id AND status = 'active'
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
     ${ofTarget('policy_usage')}) AS "policyUsage"`;
}

const CALLER_JOINS = `JOIN vaults v ON v.id = caller.vault_id
    LEFT JOIN webhook_links w ON w.vault_id = caller.vault_id AND w.last_seen_at IS NOT NULL`;

/** One subject that is asked for. */
interface Lookup {
  readonly kind: AgentCredential['kind'] | 'proxy';
  readonly hash: string;
  readonly audience: string;
  /** Empty where the request names no valid one. */
  readonly service: string;
  readonly time: string;
}

/** A statement for several lookups, and what it takes of each in the order of its parameters. */
interface Read {
  readonly statement: NamedStatement;
  readonly columns: readonly Exclude<keyof Lookup, 'kind'>[];
}

const lookups = (columns: Read['columns']): string =>
  `unnest(${columns.map((_, at) => `$${at + 1}::text[]`).join(', ')}) WITH ORDINALITY
      AS asked(${columns.join(', ')}, place)`;

/** How the agent of a lookup is found, and what is read of the credential that it shows. */
interface Caller {
  readonly join: string;
  readonly shown: string;
}

const BY_KEY: Caller = {
  join: 'JOIN agents caller ON caller.key_hash = asked.hash',
  shown: 'NULL::text AS "credentialExpiresAt", NULL::text AS "sessionId"',
};
const BY_SESSION: Caller = {
  join: `CROSS JOIN LATERAL (
      SELECT s.agent_id, s.session_id, t.expires_at FROM oauth_access_tokens t JOIN oauth_sessions s ON s.session_id = t.session_id
      WHERE t.token_hash = asked.hash AND t.expires_at > asked.time AND s.audience = asked.audience LIMIT 1) shown
    JOIN agents caller ON caller.id = shown.agent_id`,
  shown: 'shown.expires_at AS "credentialExpiresAt", shown.session_id AS "sessionId"',
};

/**
 * Reads agents. The limit of one changes no result; with it the planner takes the whole index, and not an agent's grants
 * one by one.
 *
 * @param service whose grant to join
 */
function readAgents(
  name: string,
  columns: Read['columns'],
  caller: Caller,
  service: string,
  more = '',
): Read {
  const text = `SELECT asked.place, ${caller.shown}, caller.id AS "agentId", caller.status,
      caller.mcp_enabled AS "mcpEnabled", caller.sealing_key_thumbprint AS "sealingKeyThumbprint",
      g.id AS "grantId", g.grant_expires_at AS "grantExpiresAt", g.refresh_policy AS "refreshPolicy",
      g.source_group_id AS "sourceGroupId",
      (SELECT approval FROM tokens WHERE vault_id = caller.vault_id AND service_name = g.service_name) AS approval,
      ${callerColumns('agent', 'g.service_name')}${more}
    FROM ${lookups(columns)}
    ${caller.join}
    ${CALLER_JOINS}
    LEFT JOIN LATERAL (SELECT * FROM grants WHERE agent_id = caller.id AND service_name = ${service} LIMIT 1) g
      ON true`;
  return { statement: { name, text, onlyReads: true }, columns };
}

const GRANTS = `,
      coalesce((SELECT json_agg(json_build_object('serviceName', l.service_name, 'grantExpiresAt', l.grant_expires_at,
          'refreshPolicy', l.refresh_policy, 'sourceGroupId', l.source_group_id) ORDER BY l.service_name)
        FROM grants l
        WHERE l.agent_id = caller.id AND (l.grant_expires_at IS NULL OR l.grant_expires_at > asked.time)), '[]') AS grants`;

/** Keys and sessions have their own statements, so that a key pays nothing for sessions. */
const FIND_AGENT = {
  key: readAgents('svault_find_agent', ['hash', 'service'], BY_KEY, 'asked.service'),
  session: readAgents(
    'svault_find_session',
    ['hash', 'service', 'audience', 'time'],
    BY_SESSION,
    'asked.service',
  ),
};
const LIST_GRANTS = {
  key: readAgents('svault_find_agent_and_grants', ['hash', 'time'], BY_KEY, "''", GRANTS),
  session: readAgents(
    'svault_find_session_and_grants',
    ['hash', 'audience', 'time'],
    BY_SESSION,
    "''",
    GRANTS,
  ),
};

const FIND_PROXY: Read = {
  statement: {
    name: 'svault_find_proxy',
    text: `SELECT asked.place, caller.id AS "proxyId", caller.status AS "proxyStatus", caller.upstream_auth_type AS "upstreamAuthType",
      caller.upstream_url AS "upstreamUrl", caller.service_name AS "serviceName",
      caller.header_templates AS "headerTemplates", caller.kind, caller.query_templates AS "queryTemplates",
      caller.redirects, caller.region, caller.service, caller.revision, caller.delivered_as AS "deliveredAs",
      caller.agent_id AS "agentId", a.status AS "agentStatus",
      CASE WHEN t.service_name IS NULL THEN NULL WHEN t.upstream_rejected_at IS NULL THEN 0 ELSE 1 END
        AS "credentialRejected", ${callerColumns('proxy', 'caller.service_name')}
    FROM ${lookups(['hash'])}
    JOIN proxies caller ON caller.key_hash = asked.hash
    ${CALLER_JOINS}
    LEFT JOIN agents a ON a.id = caller.agent_id
    LEFT JOIN tokens t ON t.vault_id = caller.vault_id AND t.service_name = caller.service_name`,
    onlyReads: true,
  },
  columns: ['hash'],
};

/** Lookups of one read: a millisecond or two. */
const MAX_LOOKUPS = 50;
const MAX_WAIT_MS = 3_000;

interface ReadOptions {
  readonly pool: Pick<PostgresPool, 'run'>;
  /** Under way at once, of each kind of reads; lookups that arrive meanwhile are read together. */
  readonly maxReads: number;
  readonly clock: Clock;
}

/** @param what is read, for the error of a lookup that waits too long */
function createReader<Subject extends object>(
  reads: Readonly<Partial<Record<Lookup['kind'], Read>>>,
  what: string,
  { pool, maxReads, clock }: ReadOptions,
): (lookup: Lookup) => Promise<Subject | undefined> {
  const batcher = createBatcher<Lookup, Subject | undefined>({
    run: async (_batchKey, batch) => {
      const read = batch[0] && reads[batch[0].kind];
      if (read === undefined) throw new Error('no statement reads this kind of lookup');
      const rows = await pool.run<Subject & { readonly place: number }>(
        read.statement,
        read.columns.map((column) => batch.map((lookup) => lookup[column])),
      );
      const found = new Map(rows.map((row) => [row.place, row]));
      return batch.map((_, index) => found.get(index + 1));
    },
    maxBatches: maxReads,
    maxItems: MAX_LOOKUPS,
    maxWaitMs: MAX_WAIT_MS,
    monotonic: () => clock.monotonic(),
    tooLate: () => new StorageFailure(`${what} are read too slowly`),
  });
  // By kind, for its statement; and by the hash, so that a slow lookup delays a part of the others and not all.
  return (lookup) => batcher.add(`${lookup.kind} ${lookup.hash.charCodeAt(0) % maxReads}`, lookup);
}

export function createAccessStore(options: ReadOptions): AccessStore {
  const find = createReader<AgentSubject>(FIND_AGENT, 'agents', options);
  const list = createReader<ListingSubject>(LIST_GRANTS, 'agents', options);
  const lookupOf = (credential: AgentCredential, service: string, nowMs: number): Lookup => ({
    kind: credential.kind,
    hash: credential.hash,
    audience: credential.kind === 'session' ? credential.audience : '',
    service,
    time: formatTime(nowMs),
  });
  return {
    find: (credential, service, nowMs) => find(lookupOf(credential, service, nowMs)),
    findWithGrants: (credential, nowMs) => list(lookupOf(credential, '', nowMs)),
  };
}

export function createProxyAccessStore(options: ReadOptions): ProxyAccessStore {
  const find = createReader<ProxySubject>({ proxy: FIND_PROXY }, 'proxies', options);
  return { find: (hash) => find({ kind: 'proxy', hash, audience: '', service: '', time: '' }) };
}
