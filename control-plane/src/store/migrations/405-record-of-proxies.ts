import { sql } from 'kysely';
import type { SchemaMigration } from './schema-migration.ts';

/** As in 112: it is the same lock. */
const VAULT_LOCKS = 7_385_216;

/**
 * PostgreSQL: `svault_record` (112, 302) for proxies too. What an event rests on is then the key of a proxy,
 * `proxyKeyHash`, which stands while the proxy is active and at `revision`, acts for `agentId`, an active agent, or for
 * nobody, and while the vault is open and under `policyRevision`; with `webhookId` that webhook is bound.
 *
 * `touched` may hold proxies beside agents. For agents nothing has become slower.
 */
export const recordOfProxies: SchemaMigration = {
  id: 405,
  name: 'record-of-proxies',
  up: async (db, kind) => {
    if (kind !== 'postgres') return;
    await sql`
      CREATE OR REPLACE FUNCTION svault_record(
        _vault text, _before_number text, _behind text[],
        _provided text[] DEFAULT NULL, _touched text[] DEFAULT NULL, _used_at text DEFAULT NULL
      ) RETURNS integer[] LANGUAGE plpgsql VOLATILE AS $body$
      DECLARE
        _seq_now bigint;
        _hash_now text;
        _rests_on jsonb;
        _key_hash_now text;
        _proxy_hash text;
        _left_out integer[] := '{}';
        _seqs bigint[] := '{}';
        _hashes text[] := '{}';
        _written text[] := '{}';
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended(_vault, ${sql.lit(VAULT_LOCKS)}));

        SELECT head_seq, head_hash INTO _seq_now, _hash_now FROM audit_chains WHERE vault_id = _vault;
        IF NOT FOUND THEN
          _seq_now := 0;
          _hash_now := repeat('0', 64);
          INSERT INTO audit_chains (vault_id, head_seq, head_hash, start_seq, start_hash, shipped_seq)
            VALUES (_vault, _seq_now, _hash_now, _seq_now, _hash_now, 0);
        END IF;

        FOR _place IN 1 .. cardinality(_behind) LOOP
          _rests_on := _provided[_place];
          IF _rests_on IS NOT NULL THEN
            _proxy_hash := _rests_on ->> 'proxyKeyHash';
            _key_hash_now := _rests_on ->> 'keyHash';
            IF _key_hash_now IS NULL AND _proxy_hash IS NULL THEN
              SELECT c.key_hash INTO _key_hash_now FROM oauth_access_tokens t
                JOIN oauth_sessions s ON s.session_id = t.session_id
                JOIN agents c ON c.id = s.agent_id
                WHERE t.token_hash = _rests_on ->> 'tokenHash' AND t.expires_at > _used_at
                  AND s.audience = _rests_on ->> 'audience';
            END IF;
            IF _proxy_hash IS NULL THEN
              PERFORM 1 FROM agents a
                JOIN vaults v ON v.id = a.vault_id
                JOIN grants g ON g.id = _rests_on ->> 'grantId' AND g.agent_id = a.id
                JOIN webhook_links w ON w.vault_id = a.vault_id
                WHERE a.key_hash = _key_hash_now AND a.vault_id = _vault AND a.status = 'active'
                  AND (a.mcp_enabled = 1 OR _rests_on -> 'mcp' IS NULL)
                  AND v.locked_at IS NULL AND v.policy_revision = (_rests_on ->> 'policyRevision')::bigint
                  AND w.webhook_id = _rests_on ->> 'webhookId';
            ELSE
              PERFORM 1 FROM proxies p
                JOIN vaults v ON v.id = p.vault_id
                LEFT JOIN agents a ON a.id = p.agent_id
                LEFT JOIN webhook_links w ON w.vault_id = p.vault_id
                WHERE p.key_hash = _proxy_hash AND p.vault_id = _vault AND p.status = 'active'
                  AND p.revision = (_rests_on ->> 'revision')::integer
                  AND p.agent_id IS NOT DISTINCT FROM _rests_on ->> 'agentId'
                  AND (p.agent_id IS NULL OR a.status = 'active')
                  AND v.locked_at IS NULL AND v.policy_revision = (_rests_on ->> 'policyRevision')::bigint
                  AND (_rests_on -> 'webhookId' IS NULL OR w.webhook_id = _rests_on ->> 'webhookId');
            END IF;
            IF NOT FOUND THEN
              _left_out := _left_out || _place;
              CONTINUE;
            END IF;
            IF _rests_on -> 'uses' IS NOT NULL THEN
              PERFORM 1 FROM jsonb_array_elements(_rests_on -> 'uses') AS asked(use)
                LEFT JOIN policy_usage u ON u.vault_id = _vault AND u.target_type = asked.use ->> 0
                  AND u.target_id = asked.use ->> 1 AND u.rule_id = asked.use ->> 2
                WHERE coalesce(u.used, 0) >= (asked.use ->> 3)::bigint;
              IF FOUND THEN
                _left_out := _left_out || _place;
                CONTINUE;
              END IF;
              INSERT INTO policy_usage AS u (vault_id, target_type, target_id, rule_id, used)
                SELECT _vault, asked.use ->> 0, asked.use ->> 1, asked.use ->> 2, 1
                FROM jsonb_array_elements(_rests_on -> 'uses') AS asked(use)
                ON CONFLICT (vault_id, target_type, target_id, rule_id) DO UPDATE SET used = u.used + 1;
            END IF;
          END IF;
          _seq_now := _seq_now + 1;
          _hash_now := encode(
            sha256(convert_to(_hash_now || E'\\n' || _before_number || _seq_now || _behind[_place], 'UTF8')), 'hex');
          _seqs := _seqs || _seq_now;
          _hashes := _hashes || _hash_now;
          _written := _written || _behind[_place];
        END LOOP;

        IF cardinality(_seqs) > 0 THEN
          INSERT INTO audit_events (vault_id, seq, id, event_type, occurred_at, outcome, agent_id, proxy_id, user_id,
              service_name, event_count, detail, hash)
            SELECT _vault, w.seq, e ->> 1, e ->> 2, e ->> 3, e ->> 4, e ->> 5, e ->> 6, e ->> 7,
              e ->> 8, (e ->> 9)::integer, e ->> 10, w.hash
            FROM unnest(_seqs, _hashes, _written) AS w(seq, hash, behind)
            CROSS JOIN LATERAL (SELECT ('[0' || w.behind)::json AS e) AS members;
          UPDATE audit_chains SET head_seq = _seq_now, head_hash = _hash_now WHERE vault_id = _vault;
        END IF;

        IF _touched IS NOT NULL THEN
          UPDATE agents SET last_used_at = _used_at WHERE id IN (
            SELECT id FROM agents WHERE id = ANY (_touched) AND vault_id = _vault FOR NO KEY UPDATE SKIP LOCKED);
          UPDATE proxies SET last_used_at = _used_at WHERE id IN (
            SELECT id FROM proxies WHERE id = ANY (_touched) AND vault_id = _vault FOR NO KEY UPDATE SKIP LOCKED);
        END IF;
        RETURN _left_out;
      END
      $body$`.execute(db);
  },
};
