import { StorageFailure } from '@svault/server-kit/storage-failure';
import { type Clock, formatTime } from '@svault/shared';
import type { AccessStore, AgentSubject, ListingSubject } from '../../access/subject.ts';
import type { AgentCredential } from '../../core/agent.ts';
import { createBatcher } from './batcher.ts';
import type { NamedStatement, PostgresPool } from './postgres-pool.ts';
import { callerColumns } from './subject-parts.ts';

/** One question of a read. */
interface Asked {
  readonly kind: AgentCredential['kind'];
  readonly hash: string;
  readonly audience: string;
  /** Empty where no legal one was named. */
  readonly service: string;
  readonly time: string;
}

/** What a statement is told of each question, in the order of its parameters. */
type Columns = readonly Exclude<keyof Asked, 'kind'>[];

/** How the agent of a question is found, and when what it shows expires. */
interface Caller {
  readonly join: string;
  readonly expiresAt: string;
}

interface Read {
  readonly statement: NamedStatement;
  readonly columns: Columns;
}

/**
 * All that decisions look at, for several at a time. A limit of one changes no answer; with it the planner takes the whole
 * index, and not an agent's grants one by one.
 *
 * @param service whose grant to join
 */
const subjects = (columns: Columns, caller: Caller, service: string, more = ''): string =>
  `SELECT asked.place, ${caller.expiresAt} AS "credentialExpiresAt", caller.id AS "agentId", caller.vault_id AS "vaultId", caller.status,
      caller.mcp_enabled AS "mcpEnabled", caller.last_used_at AS "lastUsedAt",
      caller.sealing_key_thumbprint AS "sealingKeyThumbprint",
      v.locked_at AS "vaultLockedAt", ${callerColumns('agent', 'g.service_name')},
      g.id AS "grantId", g.grant_expires_at AS "grantExpiresAt", g.refresh_policy AS "refreshPolicy",
      g.source_group_id AS "sourceGroupId",
      w.webhook_id AS "webhookId", w.url AS "webhookUrl", w.key_id AS "keyId", w.key_wrapped AS "keyWrapped"${more}
    FROM unnest(${columns.map((_, at) => `$${at + 1}::text[]`).join(', ')}) WITH ORDINALITY
      AS asked(${columns.join(', ')}, place)
    ${caller.join}
    JOIN vaults v ON v.id = caller.vault_id
    LEFT JOIN LATERAL (SELECT * FROM grants WHERE agent_id = caller.id AND service_name = ${service} LIMIT 1) g
      ON true
    LEFT JOIN webhook_links w ON w.vault_id = caller.vault_id AND w.last_seen_at IS NOT NULL`;

const find = (name: string, columns: Columns, caller: Caller): Read => ({
  statement: { name, text: subjects(columns, caller, 'asked.service'), onlyReads: true },
  columns,
});

const GRANTS = `,
      coalesce((SELECT json_agg(json_build_object('serviceName', l.service_name, 'grantExpiresAt', l.grant_expires_at,
          'refreshPolicy', l.refresh_policy, 'sourceGroupId', l.source_group_id) ORDER BY l.service_name)
        FROM grants l
        WHERE l.agent_id = caller.id AND (l.grant_expires_at IS NULL OR l.grant_expires_at > asked.time)), '[]') AS grants`;

const list = (name: string, columns: Columns, caller: Caller): Read => ({
  statement: { name, text: subjects(columns, caller, "''", GRANTS), onlyReads: true },
  columns,
});

const BY_KEY: Caller = {
  join: 'JOIN agents caller ON caller.key_hash = asked.hash',
  expiresAt: 'NULL::text',
};
const BY_SESSION: Caller = {
  join: `CROSS JOIN LATERAL (
      SELECT s.agent_id, t.expires_at FROM oauth_access_tokens t JOIN oauth_sessions s ON s.session_id = t.session_id
      WHERE t.token_hash = asked.hash AND t.expires_at > asked.time AND s.audience = asked.audience LIMIT 1) shown
    JOIN agents caller ON caller.id = shown.agent_id`,
  expiresAt: 'shown.expires_at',
};

/** Statements of their own, so that who shows a key pays nothing for sessions. */
type Reads = Readonly<Record<AgentCredential['kind'], Read>>;

const FIND: Reads = {
  key: find('svault_find_agent', ['hash', 'service'], BY_KEY),
  session: find('svault_find_session', ['hash', 'service', 'audience', 'time'], BY_SESSION),
};
const LIST: Reads = {
  key: list('svault_find_agent_and_grants', ['hash', 'time'], BY_KEY),
  session: list('svault_find_session_and_grants', ['hash', 'audience', 'time'], BY_SESSION),
};

/** Questions of one read: a millisecond or two. */
const MAX_QUESTIONS = 50;
const MAX_WAIT_MS = 3_000;

/** @param options.maxReads under way at once, of subjects and of lists; what comes meanwhile is read together */
export function createAccessStore(options: {
  readonly pool: Pick<PostgresPool, 'run'>;
  readonly maxReads: number;
  readonly clock: Clock;
}): AccessStore {
  const { pool, maxReads, clock } = options;

  const reader = <Subject extends AgentSubject>(reads: Reads) => {
    const run = async (
      { statement, columns }: Read,
      asked: readonly Asked[],
    ): Promise<(Subject | undefined)[]> => {
      const rows = await pool.run<Subject & { readonly place: number }>(
        statement,
        columns.map((column) => asked.map((question) => question[column])),
      );
      const found = new Map(rows.map((row) => [row.place, row]));
      return asked.map((_, index) => found.get(index + 1));
    };
    const batcher = createBatcher<Asked, Subject | undefined>({
      run: (lane, asked) => run(lane.startsWith('key') ? reads.key : reads.session, asked),
      maxBatches: maxReads,
      maxItems: MAX_QUESTIONS,
      maxWaitMs: MAX_WAIT_MS,
      monotonic: () => clock.monotonic(),
      tooLate: () => new StorageFailure('agents are read too slowly'),
    });
    // Of one kind, for its statement; and by the hash, so that who asks something slow keeps a part of the others waiting
    // and not all.
    const batchKeyOf = ({ kind, hash }: AgentCredential): string =>
      `${kind} ${hash.charCodeAt(0) % maxReads}`;
    return (credential: AgentCredential, service: string, nowMs: number): Promise<Subject | undefined> => {
      const { kind, hash } = credential;
      const audience = credential.kind === 'session' ? credential.audience : '';
      return batcher.add(batchKeyOf(credential), { kind, hash, audience, service, time: formatTime(nowMs) });
    };
  };

  const read = reader<ListingSubject>(LIST);
  return {
    find: reader<AgentSubject>(FIND),
    findWithGrants: (credential, nowMs) => read(credential, '', nowMs),
  };
}
