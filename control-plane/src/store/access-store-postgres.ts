import { StorageFailure } from '@svault/server-kit/storage-failure';
import type { Clock } from '@svault/shared';
import type { AccessStore, AccessSubject, ListingSubject } from '../access/access-store.ts';
import { createLanes } from './lanes.ts';
import type { NamedStatement, PostgresPool } from './postgres-pool.ts';
import { callerColumns } from './subject-parts-postgres.ts';

/**
 * All that decisions look at, for several at a time: `$1` are hashes of agents' keys, `$2` what each asks for besides. The
 * limit of one changes no answer; with it the planner takes the whole index, and not an agent's grants one by one.
 *
 * @param serviceName whose grant to join
 */
const subjects = (serviceName: string, more = ''): string =>
  `SELECT asked.place, caller.id AS "agentId", caller.vault_id AS "vaultId", caller.status,
      caller.last_used_at AS "lastUsedAt", caller.sealing_key_thumbprint AS "sealingKeyThumbprint",
      v.locked_at AS "vaultLockedAt", ${callerColumns('agent', 'g.service_name')},
      g.id AS "grantId", g.grant_expires_at AS "grantExpiresAt", g.refresh_policy AS "refreshPolicy",
      w.webhook_id AS "webhookId", w.url AS "webhookUrl", w.key_id AS "keyId", w.key_wrapped AS "keyWrapped"${more}
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked(key_hash, besides, place)
    JOIN agents caller ON caller.key_hash = asked.key_hash
    JOIN vaults v ON v.id = caller.vault_id
    LEFT JOIN LATERAL (SELECT * FROM grants WHERE agent_id = caller.id AND service_name = ${serviceName} LIMIT 1) g
      ON true
    LEFT JOIN webhook_links w ON w.vault_id = caller.vault_id AND w.last_seen_at IS NOT NULL`;

const FIND: NamedStatement = {
  name: 'svault_find_agent',
  text: subjects('asked.besides'),
  onlyReads: true,
};

const LIST: NamedStatement = {
  name: 'svault_find_agent_and_grants',
  text: subjects(
    "''",
    `,
      coalesce((SELECT json_agg(json_build_object('serviceName', l.service_name, 'grantExpiresAt', l.grant_expires_at,
          'refreshPolicy', l.refresh_policy, 'sourceGroupId', l.source_group_id) ORDER BY l.service_name)
        FROM grants l
        WHERE l.agent_id = caller.id AND (l.grant_expires_at IS NULL OR l.grant_expires_at > asked.besides)), '[]') AS grants`,
  ),
  onlyReads: true,
};

interface Asked {
  readonly keyHash: string;
  /** The name of the service, or the time. */
  readonly besides: string;
}

/** Questions of one read: a millisecond or two. */
const MAX_QUESTIONS = 50;
const MAX_WAIT_MS = 3_000;

/** @param options.maxReads under way at once, of each kind; what comes meanwhile is read together */
export function createAccessStore(options: {
  readonly pool: Pick<PostgresPool, 'run'>;
  readonly maxReads: number;
  readonly clock: Clock;
}): AccessStore {
  const { pool, maxReads, clock } = options;

  const reader = <Subject extends AccessSubject>(statement: NamedStatement) => {
    const lanes = createLanes<Asked, Subject | undefined>({
      run: async (_lane, asked) => {
        const rows = await pool.run<Subject & { readonly place: number }>(statement, [
          asked.map(({ keyHash }) => keyHash),
          asked.map(({ besides }) => besides),
        ]);
        const found = new Map(rows.map((row) => [row.place, row]));
        return asked.map((_, index) => found.get(index + 1));
      },
      maxBatches: maxReads,
      maxItems: MAX_QUESTIONS,
      maxWaitMs: MAX_WAIT_MS,
      monotonic: () => clock.monotonic(),
      tooLate: () => new StorageFailure('agents are read too slowly'),
    });
    // By the key, so that who asks something slow keeps a part of the others waiting and not all.
    const laneOf = (keyHash: string): string => String(keyHash.charCodeAt(0) % maxReads);
    return (keyHash: string, besides: string): Promise<Subject | undefined> =>
      lanes.add(laneOf(keyHash), { keyHash, besides });
  };

  return { findByKeyHash: reader<AccessSubject>(FIND), findWithGrants: reader<ListingSubject>(LIST) };
}
