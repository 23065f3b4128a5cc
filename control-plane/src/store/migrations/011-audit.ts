import { type Kysely, sql } from 'kysely';
import type { Schema } from '../schema.ts';
import type { SchemaMigration } from './schema-migration.ts';

/**
 * The log, and for each vault both ends of its chain (`start_*`: the event before the oldest kept one, so that old events can
 * be removed) and up to where its webhook has it. `audit_events` has no foreign key: an event outlives what it names.
 */
export const audit: SchemaMigration = {
  id: 11,
  name: 'audit',
  phase: 'expand',
  up: async (db, kind) => {
    await db.schema
      .createTable('audit_events')
      .addColumn('vault_id', 'text', (column) => column.notNull())
      .addColumn('seq', 'bigint', (column) => column.notNull())
      .addColumn('id', 'text', (column) => column.notNull())
      .addColumn('event_type', 'text', (column) => column.notNull())
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('occurred_at', 'text', (column) => column.notNull())
      .addColumn('agent_id', 'text')
      .addColumn('proxy_id', 'text')
      .addColumn('user_id', 'text')
      .addColumn('service_name', 'text')
      .addColumn('event_count', 'integer')
      .addColumn('detail', 'text')
      .addColumn('request_id', 'text')
      .addColumn('channel', 'text')
      .addColumn('address', 'text')
      .addColumn('authenticated_by', 'text')
      .addColumn('user_agent', 'text')
      .addColumn('hash', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('audit_events_primary', ['vault_id', 'seq'])
      .execute();
    // Most events of a busy account are of its proxies, and none of an agent.
    await db.schema
      .createIndex('audit_events_by_agent')
      .on('audit_events')
      .columns(['vault_id', 'agent_id', 'seq'])
      .where('agent_id', 'is not', null)
      .execute();
    // Of types that no credential request writes.
    await db.schema
      .createIndex('audit_events_of_attention')
      .on('audit_events')
      .columns(['vault_id', 'seq'])
      .where(
        sql<boolean>`event_type in ('TOKEN_REFRESHED', 'TOKEN_STORE_TICKET', 'TOKEN_DELETED', 'WEBHOOK_LOG_CONTRADICTION')`,
      )
      .execute();

    await db.schema
      .createTable('audit_chains')
      .addColumn('vault_id', 'text', (column) => column.primaryKey())
      .addColumn('head_seq', 'bigint', (column) => column.notNull())
      .addColumn('head_hash', 'text', (column) => column.notNull())
      .addColumn('start_seq', 'bigint', (column) => column.notNull())
      .addColumn('start_hash', 'text', (column) => column.notNull())
      .addColumn('shipped_seq', 'bigint', (column) => column.notNull())
      .addColumn('counted_seq', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
    for (const [name, cursor] of [
      ['audit_chains_unshipped', 'shipped_seq'],
      ['audit_chains_uncounted', 'counted_seq'],
    ] as const)
      await db.schema
        .createIndex(name)
        .on('audit_chains')
        .column('vault_id')
        .where(sql<boolean>`${sql.ref(cursor)} < head_seq`)
        .execute();

    await createActivityTable(db);

    if (kind === 'postgres') await createAuditFunctions(db);
  },
};

/** Credential requests by time, counted from the log, of each account (`agent_id` is '') and of each agent. */
async function createActivityTable(db: Kysely<Schema>): Promise<void> {
  await db.schema
    .createTable('activity_counts')
    .addColumn('vault_id', 'text', (column) => column.notNull())
    .addColumn('agent_id', 'text', (column) => column.notNull())
    .addColumn('bucket', 'text', (column) => column.notNull())
    .addColumn('starts_at', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('requests', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('activity_counts_primary', [
      'vault_id',
      'agent_id',
      'bucket',
      'starts_at',
      'outcome',
    ])
    .execute();
  // Their conditions hold for all rows. Each is named by one query alone, so that no other takes the index in place of the key.
  await db.schema
    .createIndex('activity_counts_by_age')
    .on('activity_counts')
    .columns(['bucket', 'starts_at'])
    .where(sql<boolean>`outcome <> ''`)
    .execute();
  await db.schema
    .createIndex('activity_counts_by_size')
    .on('activity_counts')
    .columns(['vault_id', 'starts_at', 'requests', 'agent_id'])
    .where(sql<boolean>`bucket = 'hour' and agent_id <> '' and requests > 0`)
    .execute();
}

/** Tells an account's lock apart from another program's advisory locks in the same database. */
const VAULT_LOCKS = 7_385_216;

/**
 * `svault_lock` takes the lock that makes the changes of one account follow one another, whichever process makes them. An
 * advisory lock, because the server grants those in the order of the requests.
 *
 * `svault_record` takes the same lock and appends events to the account's chain in one round trip. It returns the
 * positions, from 1, of the events that it left out. Each statement in it sees what was committed before it got the lock.
 *
 * - `behind`: of each event the text that is hashed after its number (`hashedText` of the protocol library); the columns are read from it
 * - `raises`: an event reports a change that decisions depend on, so the account's revision grows
 * - `revisions`: of each event the account's revision that it requires, or null
 * - `uses`: of each event `[target type, target id, rule id, limit]` of each use that is counted with it, all or none
 * - `touched`: of each event the agent or proxy whose last use is `used_at`, or null; a row that another transaction has
 *   locked is skipped
 *
 * SQLite needs neither: its write transactions follow one another, and the process computes the chain.
 */
async function createAuditFunctions(db: Kysely<Schema>): Promise<void> {
  await sql`
    CREATE FUNCTION svault_lock(_vault text) RETURNS void LANGUAGE sql VOLATILE AS $body$
      SELECT pg_advisory_xact_lock(hashtextextended(_vault, ${sql.lit(VAULT_LOCKS)}))
    $body$`.execute(db);
  await sql`
    CREATE FUNCTION svault_record(
      _vault text, _before_number text, _behind text[], _raises boolean DEFAULT false,
      _revisions bigint[] DEFAULT NULL, _uses text[] DEFAULT NULL,
      _touched text[] DEFAULT NULL, _used_at text DEFAULT NULL
    ) RETURNS integer[] LANGUAGE plpgsql VOLATILE AS $body$
    DECLARE
      _seq_now bigint;
      _hash_now text;
      _revision_now bigint;
      _uses_now jsonb;
      _left_out integer[] := '{}';
      _seqs bigint[] := '{}';
      _hashes text[] := '{}';
      _written text[] := '{}';
      _touched_now text[] := '{}';
    BEGIN
      PERFORM pg_advisory_xact_lock(hashtextextended(_vault, ${sql.lit(VAULT_LOCKS)}));

      SELECT head_seq, head_hash INTO _seq_now, _hash_now FROM audit_chains WHERE vault_id = _vault;
      IF NOT FOUND THEN
        _seq_now := 0;
        _hash_now := repeat('0', 64);
        INSERT INTO audit_chains (vault_id, head_seq, head_hash, start_seq, start_hash, shipped_seq)
          VALUES (_vault, _seq_now, _hash_now, _seq_now, _hash_now, 0);
      END IF;
      IF _raises THEN
        UPDATE vaults SET revision = revision + 1 WHERE id = _vault;
      END IF;
      IF _revisions IS NOT NULL THEN
        SELECT revision INTO _revision_now FROM vaults WHERE id = _vault;
      END IF;

      FOR _place IN 1 .. cardinality(_behind) LOOP
        IF _revisions[_place] IS NOT NULL AND _revisions[_place] IS DISTINCT FROM _revision_now THEN
          _left_out := _left_out || _place;
          CONTINUE;
        END IF;
        _uses_now := _uses[_place];
        IF _uses_now IS NOT NULL THEN
          PERFORM 1 FROM jsonb_array_elements(_uses_now) AS asked(use)
            LEFT JOIN policy_usage u ON u.vault_id = _vault AND u.target_type = asked.use ->> 0
              AND u.target_id = asked.use ->> 1 AND u.rule_id = asked.use ->> 2
            WHERE coalesce(u.used, 0) >= (asked.use ->> 3)::bigint;
          IF FOUND THEN
            _left_out := _left_out || _place;
            CONTINUE;
          END IF;
          INSERT INTO policy_usage AS u (vault_id, target_type, target_id, rule_id, used)
            SELECT _vault, asked.use ->> 0, asked.use ->> 1, asked.use ->> 2, 1
            FROM jsonb_array_elements(_uses_now) AS asked(use)
            ON CONFLICT (vault_id, target_type, target_id, rule_id) DO UPDATE SET used = u.used + 1;
        END IF;
        _seq_now := _seq_now + 1;
        _hash_now := encode(
          sha256(convert_to(_hash_now || E'\\n' || _before_number || _seq_now || _behind[_place], 'UTF8')), 'hex');
        _seqs := _seqs || _seq_now;
        _hashes := _hashes || _hash_now;
        _written := _written || _behind[_place];
        _touched_now := _touched_now || _touched[_place];
      END LOOP;

      IF cardinality(_seqs) > 0 THEN
        INSERT INTO audit_events (vault_id, seq, id, event_type, occurred_at, outcome, agent_id, proxy_id, user_id,
            service_name, event_count, detail, request_id, channel, address, authenticated_by, user_agent, hash)
          SELECT _vault, w.seq, e ->> 1, e ->> 2, e ->> 3, e ->> 4, e ->> 5, e ->> 6, e ->> 7,
            e ->> 8, (e ->> 9)::integer, e ->> 10, e ->> 11, e ->> 12, e ->> 13, e ->> 14, e ->> 15, w.hash
          FROM unnest(_seqs, _hashes, _written) AS w(seq, hash, behind)
          CROSS JOIN LATERAL (SELECT ('[0' || w.behind)::json AS e) AS members;
        UPDATE audit_chains SET head_seq = _seq_now, head_hash = _hash_now WHERE vault_id = _vault;
      END IF;

      IF _touched IS NOT NULL THEN
        UPDATE agents SET last_used_at = _used_at WHERE id IN (
          SELECT id FROM agents WHERE id = ANY (_touched_now) AND vault_id = _vault FOR NO KEY UPDATE SKIP LOCKED);
        UPDATE proxies SET last_used_at = _used_at WHERE id IN (
          SELECT id FROM proxies WHERE id = ANY (_touched_now) AND vault_id = _vault FOR NO KEY UPDATE SKIP LOCKED);
      END IF;
      RETURN _left_out;
    END
    $body$`.execute(db);
}
