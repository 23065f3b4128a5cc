import { type Id, newId, systemClock } from '@svault/shared';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AgentCredential } from '../../src/core/agent.ts';
import { createAccessStore } from '../../src/store/postgres/access-store.ts';
import { BY_INDEX } from '../../src/store/postgres/postgres-database.ts';
import { type StorePlace, makeStorePlace } from './open-store.ts';

/*
 * The reads of a credential request cost the same for any size of the database: each table is looked up by a whole index.
 * Planned as on a long-lived connection, with empty and with full tables.
 */

const KEY: AgentCredential = { kind: 'key', hash: 'a' };
const SESSION: AgentCredential = { kind: 'session', hash: 'a', audience: 'https://x' };

let place: StorePlace;
let client: pg.Client;
beforeAll(async () => {
  place = await makeStorePlace();
  if (place.address.kind !== 'postgres') throw new Error('these are about PostgreSQL');
  client = new pg.Client({ connectionString: place.address.url.reveal() });
  await client.connect();
  for (const [name, value] of Object.entries({ ...BY_INDEX, plan_cache_mode: 'force_generic_plan' }))
    await client.query('SELECT set_config($1, $2, false)', [name, value]);
});
afterAll(async () => {
  await client.end();
  await place.remove();
});

interface Statement {
  readonly text: string;
  readonly parameters: number;
}

/** The statements of the credential path, as the access store sends them. */
async function statements(): Promise<readonly Statement[]> {
  const sent: Statement[] = [];
  const run = async (
    { text }: { readonly text: string },
    values: readonly unknown[] = [],
  ): Promise<never[]> => {
    sent.push({ text, parameters: values.length });
    return [];
  };
  const store = createAccessStore({ pool: { run }, maxReads: 1, clock: systemClock });
  for (const credential of [KEY, SESSION]) {
    await store.find(credential, 'b', 0);
    await store.findWithGrants(credential, 0);
  }
  return sent;
}

async function planOf({ text, parameters }: Statement): Promise<string> {
  await client.query(`PREPARE asked AS ${text}`);
  const values = Array.from({ length: parameters }, () => "ARRAY['h1', 'h2']").join(', ');
  const { rows } = await client.query<Record<string, string>>(`EXPLAIN EXECUTE asked(${values})`);
  await client.query('DEALLOCATE asked');
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

async function expectWholeIndexes(): Promise<void> {
  for (const statement of await statements()) {
    const plan = await planOf(statement);
    expect(plan).not.toMatch(/Seq Scan|Hash Join|Merge Join|Join Filter/);
    // An index scan must have a condition on the index.
    expect(plan).not.toMatch(/Scan using .*\n *(?! |Index Cond)/);
    const credential = statement.text.includes('oauth_access_tokens') ? 'token_hash = ' : 'key_hash = ';
    for (const columns of ['agent_id = caller.id) AND (service_name =', 'target_type = ', credential])
      expect(plan).toMatch(new RegExp(`Index Cond: .*${columns.replaceAll(/[()]/g, '\\$&')}`));
  }
}

it('every read of the credential path uses whole indexes in an empty database', expectWholeIndexes);

it('every read of the credential path uses whole indexes in a database that one account fills', async () => {
  await client.query(`
    INSERT INTO vaults (id, created_at) VALUES ('v', 'x');
    INSERT INTO users (id, vault_id, email, name_key, role, is_owner, created_at) VALUES ('u', 'v', 'e', 'e', 'admin', 1, 'x');
    INSERT INTO agents (id, vault_id, owner_id, name, name_key, description, status, mcp_enabled, created_at, key_hash, key_prefix, key_wrapped)
      SELECT 'a' || n, 'v', 'u', 'n', 'n', '', 'active', 0, 'x', 'h' || n, 'p', 'w' FROM generate_series(1, 3000) n;
    INSERT INTO grants (id, vault_id, agent_id, service_name, refresh_policy, created_at)
      SELECT 'g' || n, 'v', 'a' || n % 10 + 1, 's' || n, 'none', 'x' FROM generate_series(1, 3000) n;
    INSERT INTO sessions (id, vault_id, user_id, kind, token_hash, client, created_at, last_used_at, expires_at)
      SELECT 's' || n, 'v', 'u', 'oauth', 'f' || n, 'c', 'x', 'x', 'x' FROM generate_series(1, 3000) n;
    INSERT INTO oauth_sessions (session_id, agent_id, client_id, audience)
      SELECT 's' || n, 'a' || n % 10 + 1, 'c', 'x' FROM generate_series(1, 3000) n;
    INSERT INTO oauth_access_tokens (token_hash, session_id, issued_at, expires_at)
      SELECT 'h' || n, 's' || n % 10 + 1, 'x', 'x' FROM generate_series(1, 3000) n;
    INSERT INTO policies (id, vault_id, name, name_key, enabled, rules, created_at, updated_at)
      VALUES ('p', 'v', 'n', 'n', 1, '[]', 'x', 'x');
    INSERT INTO policy_attachments (vault_id, target_type, target_id, policy_id)
      SELECT 'v', 'agent', 'a' || n, 'p' FROM generate_series(1, 3000) n;
    INSERT INTO policy_usage (vault_id, target_type, target_id, rule_id, used)
      SELECT 'v', 'agent', 'a' || n, 'r', 1 FROM generate_series(1, 3000) n`);
  await expectWholeIndexes();
  await client.query('ANALYZE');
  await expectWholeIndexes();
});

it('a page of a log is read in the order of its index before the first ANALYZE', async () => {
  const fresh = await makeStorePlace();
  const database = await fresh.open();
  const { audit } = database.stores;
  const vaultId: Id<'vlt'> = newId('vlt');
  await sql`
    INSERT INTO audit_events (vault_id, seq, id, event_type, outcome, occurred_at, agent_id, hash)
      SELECT ${vaultId}, n, 'e' || n, 'LOGIN', 'success', 'x', 'a' || n % 100, 'h' FROM generate_series(1, 30000) n`.execute(
    database.kysely,
  );
  /** As the statistics of the one connection that is used say, once it has reported them. */
  const rowsRead = async (): Promise<number> => {
    await sql`SELECT pg_stat_force_next_flush()`.execute(database.kysely);
    const { rows } = await sql<{ rows: number }>`
      SELECT idx_tup_fetch + seq_tup_read AS rows FROM pg_stat_user_tables WHERE relname = 'audit_events'`.execute(
      database.kysely,
    );
    return rows[0]?.rows ?? NaN;
  };
  const pages = [
    () => audit.after(vaultId, 0, 100),
    () => audit.after(vaultId, 15_000, 100),
    () => audit.scan(vaultId, {}, { limit: 100 }),
  ];
  for (const page of pages) {
    const before = await rowsRead();
    await page();
    expect((await rowsRead()) - before).toBe(100);
  }
  const before = await rowsRead();
  const search = { agentId: 'a7' as Id<'agt'>, serviceName: 'nothing' };
  await audit.scan(vaultId, search, { limit: 100, before: 25_000 });
  // The agent's 250 rows, once to bound them, once by their numbers, and once more themselves.
  expect((await rowsRead()) - before).toBeLessThanOrEqual(750);
  await database.close();
  await fresh.remove();
});
