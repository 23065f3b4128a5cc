import { type Kysely, sql } from 'kysely';
import { MIGRATIONS } from './migrations.ts';
import type { DatabaseKind } from './schema-migration.ts';
import type { Schema } from '../schema.ts';

/** The database was written by a newer program. Nothing was changed. */
class NewerSchema extends Error {
  constructor(found: { readonly id: number; readonly name: string }) {
    super(
      `the database has schema ${found.id} (${found.name}), which this program does not know; it knows up to ` +
        `${Math.max(...MIGRATIONS.map(({ id }) => id))}: run the newer program, or restore an older backup`,
    );
    this.name = 'NewerSchema';
  }
}

/**
 * Brings the schema up to date: each missing migration in one transaction, so that a kill leaves whole steps. Released
 * migrations are append-only and additive: the former program runs on the new schema. (Kysely's `Migrator` does not tell
 * a newer schema from a corrupt one, and adds two tables.)
 *
 * @throws NewerSchema when the database has a step that this program does not know
 */
export async function migrate(db: Kysely<Schema>, kind: DatabaseKind): Promise<void> {
  await sql`CREATE TABLE IF NOT EXISTS schema_migrations (id INTEGER PRIMARY KEY, name TEXT NOT NULL)`.execute(
    db,
  );
  const applied = await db.selectFrom('schema_migrations').select(['id', 'name']).execute();
  const unknown = applied.find(({ id }) => !MIGRATIONS.some((migration) => migration.id === id));
  if (unknown !== undefined) throw new NewerSchema(unknown);
  for (const migration of MIGRATIONS) {
    if (applied.some(({ id }) => id === migration.id)) continue;
    await db.transaction().execute(async (transaction) => {
      if (await isApplied(transaction, migration.id)) return;
      await migration.up(transaction, kind);
      await transaction
        .insertInto('schema_migrations')
        .values({ id: migration.id, name: migration.name })
        .execute();
    });
  }
}

/** Read again inside the write transaction, since another process may have applied it. */
async function isApplied(db: Kysely<Schema>, id: number): Promise<boolean> {
  const row = await db.selectFrom('schema_migrations').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}
