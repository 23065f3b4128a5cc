import { createGroupCommit } from '@svault/server-kit/group-commit';
import { type SqliteDatabase, openPlain } from '@svault/server-kit/sqlite';
import { Kysely, sql } from 'kysely';
import { migrate } from './migrations/migrate.ts';
import type { DatabaseKind } from './migrations/schema-migration.ts';
import { quote, tablesOf } from './move/tables.ts';
import type { Schema } from './schema.ts';
import { sqliteDialect } from './sqlite/kysely-dialect.ts';

/** What only PostgreSQL has, in `migrations/011-audit.ts`. */
const FUNCTIONS = ['svault_lock', 'svault_record'];

/**
 * Looks for what a restore may have left out or mixed: tables, columns, functions; rows that refer to none, or to one of
 * another account; positions in a log that are after its head.
 *
 * @returns what is wrong, a sentence each
 */
export async function problemsOfRows(db: Kysely<Schema>, kind: DatabaseKind): Promise<readonly string[]> {
  return withCurrentSchema(async (expected) => {
    const problems = kind === 'sqlite' ? await problemsOfFile(db) : await missingFunctions(db);
    const tables = tablesOf(expected);
    const incomplete = new Set<string>();
    for (const { name, columns } of tables) {
      const names = columns.map((column) => sql.ref(`${name}.${column.name}`));
      const isThere = await sql`SELECT ${sql.join(names)} FROM ${sql.table(name)} LIMIT 0`.execute(db).then(
        () => true,
        () => false,
      );
      if (isThere) continue;
      incomplete.add(name);
      problems.push(`the table ${name} is missing or has not all of its columns`);
    }
    for (const reference of referencesOf(expected)) {
      if (incomplete.has(reference.from) || incomplete.has(reference.to)) continue;
      const rows = await danglingRows(db, reference);
      if (rows > 0)
        problems.push(
          `${rows} rows of ${reference.from} refer to no row of ${reference.to} of their account`,
        );
    }
    if (!incomplete.has('audit_chains') && !incomplete.has('audit_checkpoints'))
      problems.push(...(await chainsBeyondTheirHead(db)));
    return problems;
  });
}

/** In memory, as the migrations make it. */
async function withCurrentSchema<T>(work: (sqlite: SqliteDatabase) => Promise<T>): Promise<T> {
  const sqlite = openPlain(':memory:');
  const kysely = new Kysely<Schema>({ dialect: sqliteDialect(sqlite, createGroupCommit(sqlite)) });
  try {
    await migrate(kysely, 'sqlite');
    return await work(sqlite);
  } finally {
    await kysely.destroy();
    sqlite.close();
  }
}

async function problemsOfFile(db: Kysely<Schema>): Promise<string[]> {
  const { rows } = await sql<{ readonly integrity_check: string }>`PRAGMA integrity_check(1)`.execute(db);
  return rows.flatMap(({ integrity_check: found }) =>
    found === 'ok' ? [] : [`SQLite finds the file damaged: ${found}`],
  );
}

async function missingFunctions(db: Kysely<Schema>): Promise<string[]> {
  const { rows } = await sql<{ readonly name: string }>`
    SELECT name FROM unnest(${FUNCTIONS}::text[]) AS name WHERE to_regproc(name) IS NULL`.execute(db);
  return rows.map(({ name }) => `the function ${name} is missing`);
}

/** A foreign key. */
interface Reference {
  readonly from: string;
  readonly to: string;
  readonly columns: readonly { readonly from: string; readonly to: string }[];
  /** Both rows name their account, which must be the same. */
  readonly isOfAccount: boolean;
}

function referencesOf(sqlite: SqliteDatabase): readonly Reference[] {
  const tables = new Map(tablesOf(sqlite).map((table) => [table.name, table]));
  const hasVault = (name: string): boolean =>
    tables.get(name)?.columns.some((column) => column.name === 'vault_id') === true;
  return [...tables.keys()].flatMap((from) => {
    const rows = sqlite
      .prepare<
        [string],
        { readonly id: number; readonly table: string; readonly from: string; readonly to: string }
      >('SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?)')
      .all(from);
    return Object.values(Object.groupBy(rows, ({ id }) => id)).flatMap((columns = []) => {
      const to = columns[0]?.table ?? '';
      return [{ from, to, columns, isOfAccount: hasVault(from) && hasVault(to) }];
    });
  });
}

async function danglingRows(
  db: Kysely<Schema>,
  { from, to, columns, isOfAccount }: Reference,
): Promise<number> {
  const given = columns.map((column) => `c.${quote(column.from)} IS NOT NULL`);
  const same = columns.map((column) => `p.${quote(column.to)} = c.${quote(column.from)}`);
  if (isOfAccount) same.push('(c.vault_id IS NULL OR p.vault_id = c.vault_id)');
  const { rows } = await sql<{ readonly dangling: number }>`
    SELECT count(*) AS dangling FROM ${sql.raw(quote(from))} c WHERE ${sql.raw(given.join(' AND '))}
      AND NOT EXISTS (SELECT 1 FROM ${sql.raw(quote(to))} p WHERE ${sql.raw(same.join(' AND '))})`.execute(
    db,
  );
  return rows[0]?.dangling ?? 0;
}

async function chainsBeyondTheirHead(db: Kysely<Schema>): Promise<readonly string[]> {
  const { rows } = await sql<{ readonly vault_id: string }>`
    SELECT vault_id FROM audit_chains
    WHERE start_seq > head_seq OR shipped_seq > head_seq OR counted_seq > head_seq OR EXISTS (
      SELECT 1 FROM audit_checkpoints c WHERE c.vault_id = audit_chains.vault_id AND c.size > head_seq)
    ORDER BY vault_id`.execute(db);
  return rows.map(({ vault_id: vaultId }) => `the log of ${vaultId} ends before what is known to be in it`);
}
