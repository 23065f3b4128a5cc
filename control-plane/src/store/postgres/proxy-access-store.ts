import { StorageFailure } from '@svault/server-kit/storage-failure';
import type { Clock } from '@svault/shared';
import type { ProxyAccessStore, ProxySubject } from '../../access/subject.ts';
import { createBatcher } from './batcher.ts';
import type { NamedStatement, PostgresPool } from './postgres-pool.ts';
import { callerColumns } from './subject-parts.ts';

/** All that decisions look at, for several keys at a time. */
const FIND: NamedStatement = {
  name: 'svault_find_proxy',
  text: `SELECT asked.place, caller.id AS "proxyId", caller.vault_id AS "vaultId",
      caller.upstream_auth_type AS "upstreamAuthType", caller.upstream_url AS "upstreamUrl",
      caller.service_name AS "serviceName", caller.header_templates AS "headerTemplates",
      caller.revision, caller.delivered_as AS "deliveredAs",
      caller.agent_id AS "agentId", a.status AS "agentStatus", caller.last_used_at AS "lastUsedAt",
      CASE WHEN t.service_name IS NULL THEN NULL WHEN t.upstream_rejected_at IS NULL THEN 0 ELSE 1 END
        AS "credentialRejected",
      v.locked_at AS "vaultLockedAt", ${callerColumns('proxy', 'caller.service_name')},
      w.webhook_id AS "webhookId", w.url AS "webhookUrl", w.key_id AS "keyId", w.key_wrapped AS "keyWrapped"
    FROM unnest($1::text[]) WITH ORDINALITY AS asked(hash, place)
    JOIN proxies caller ON caller.key_hash = asked.hash AND caller.status = 'active'
    JOIN vaults v ON v.id = caller.vault_id
    LEFT JOIN agents a ON a.id = caller.agent_id
    LEFT JOIN webhook_links w ON w.vault_id = caller.vault_id AND w.last_seen_at IS NOT NULL
    LEFT JOIN tokens t ON t.vault_id = caller.vault_id AND t.service_name = caller.service_name`,
  onlyReads: true,
};

/** Keys of one read: a millisecond or two. */
const MAX_KEYS = 50;
const MAX_WAIT_MS = 3_000;

/** @param options.maxReads under way at once; what comes meanwhile is read together */
export function createProxyAccessStore(options: {
  readonly pool: Pick<PostgresPool, 'run'>;
  readonly maxReads: number;
  readonly clock: Clock;
}): ProxyAccessStore {
  const { pool, maxReads, clock } = options;

  const read = async (hashes: readonly string[]): Promise<(ProxySubject | undefined)[]> => {
    const rows = await pool.run<ProxySubject & { readonly place: number }>(FIND, [hashes]);
    const found = new Map(rows.map((row) => [row.place, row]));
    return hashes.map((_, index) => found.get(index + 1));
  };
  const batcher = createBatcher<string, ProxySubject | undefined>({
    run: (_lane, hashes) => read(hashes),
    maxBatches: maxReads,
    maxItems: MAX_KEYS,
    maxWaitMs: MAX_WAIT_MS,
    monotonic: () => clock.monotonic(),
    tooLate: () => new StorageFailure('proxies are read too slowly'),
  });
  // By the hash, so that who asks something slow keeps a part of the others waiting and not all.
  return { find: (keyHash) => batcher.add(String(keyHash.charCodeAt(0) % maxReads), keyHash) };
}
