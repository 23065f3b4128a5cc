import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { openPlain } from '@svault/server-kit/sqlite';
import pg from 'pg';

/** What a service keeps, looked at beside it, in whichever database it is. Statements have `?` for their values. */
export interface StoredState {
  readonly kind: 'sqlite' | 'postgres';
  rows<Row extends object>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]>;
  /** The first column of the first row; what is a number as one. */
  value(sql: string, ...values: readonly unknown[]): Promise<unknown>;
  /** Several statements, without values. */
  run(statements: string): Promise<void>;
  /** All that is written, as it lies on the disk; from PostgreSQL also as its rows read, since long values lie compressed. */
  bytes(): Promise<Buffer>;
  /** Every table with its columns in their order, by name. */
  columns(): Promise<Readonly<Record<string, string>>>;
  /** Of all that is kept; not of locks and what only belongs to living processes. */
  digest(): Promise<string>;
  /** From now on no event can be written. @returns what ends that */
  refuseEvents(): Promise<() => Promise<void>>;
}

/** @param databaseUrl as in `SV_DATABASE_URL` */
export function storedState(databaseUrl: string): StoredState {
  const path = databaseUrl.replace(/^sqlite:/, '');
  return path === databaseUrl ? inPostgres(databaseUrl) : inSqlite(path);
}

function inSqlite(path: string): StoredState {
  const within = async <T>(work: (db: ReturnType<typeof openPlain>) => T): Promise<T> => {
    const db = openPlain(path);
    try {
      return work(db);
    } finally {
      db.close();
    }
  };
  const run = (statements: string): Promise<void> => within((db) => void db.exec(statements));
  const rows = <Row extends object>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> =>
    within((db) => db.prepare<unknown[], Row>(sql).all(...values));
  const filesBut = (left: RegExp): Buffer[] =>
    readdirSync(dirname(path))
      .filter((name) => name.startsWith(basename(path)) && !left.test(name))
      .sort()
      .map((name) => readFileSync(join(dirname(path), name)));
  return {
    kind: 'sqlite',
    rows,
    value: (sql, ...values) =>
      within((db) =>
        db
          .prepare(sql)
          .pluck()
          .get(...values),
      ),
    run,
    bytes: () => Promise.resolve(Buffer.concat(filesBut(/^$/))),
    columns: async () =>
      toColumns(
        await rows(
          `SELECT m.name AS tab, c.name AS col FROM sqlite_schema m, pragma_table_info(m.name) c
           WHERE m.type = 'table' ORDER BY m.name, c.cid`,
        ),
      ),
    digest: () => Promise.resolve(digestOf(filesBut(/-shm$|lock/))),
    refuseEvents: async () => {
      await run(
        `CREATE TRIGGER no_row BEFORE INSERT ON audit_events BEGIN SELECT RAISE(ABORT, 'no row'); END`,
      );
      return () => run('DROP TRIGGER no_row');
    },
  };
}

const BIGINT = 20;
const NUMERIC = 1700;
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === BIGINT || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format)) as never,
};

function inPostgres(url: string): StoredState {
  const within = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: url, types });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };
  const rows = <Row extends object>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> => {
    let place = 0;
    const numbered = sql.replaceAll('?', () => `$${++place}`);
    return within(async (client) => (await client.query<Row>(numbered, [...values])).rows);
  };
  const run = (statements: string): Promise<void> =>
    within(async (client) => void (await client.query(statements)));
  return {
    kind: 'postgres',
    rows,
    value: async (sql, ...values) => Object.values((await rows(sql, ...values))[0] ?? {})[0],
    run,
    bytes: () =>
      within(async (client) => {
        await client.query('CHECKPOINT');
        const files = await client.query<{ file: Buffer }>(
          `SELECT pg_read_binary_file('base/' || oid || '/' || name) AS file
           FROM pg_database, pg_ls_dir('base/' || oid) AS name WHERE datname = current_database()`,
        );
        return Buffer.concat([...files.rows.map(({ file }) => file), await rowsAsText(client)]);
      }),
    columns: async () =>
      toColumns(
        await rows(
          `SELECT table_name AS tab, column_name AS col FROM information_schema.columns
           WHERE table_schema = 'public' ORDER BY table_name COLLATE "C", ordinal_position`,
        ),
      ),
    digest: () => within(async (client) => digestOf([await rowsAsText(client)])),
    refuseEvents: async () => {
      await run(
        `CREATE FUNCTION no_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no row'; END $$;
         CREATE TRIGGER no_row BEFORE INSERT ON audit_events FOR EACH ROW EXECUTE FUNCTION no_row()`,
      );
      return () => run('DROP TRIGGER no_row ON audit_events; DROP FUNCTION no_row');
    },
  };
}

async function rowsAsText(client: pg.Client): Promise<Buffer> {
  const tables = await client.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = 'public' AND tablename NOT IN ('background_claims', 'webhook_outages') ORDER BY 1`,
  );
  const texts: string[] = [];
  for (const { name } of tables.rows) {
    const read = await client.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t ORDER BY 1`);
    texts.push(...read.rows.map(({ text }) => text));
  }
  return Buffer.from(texts.join('\n'));
}

const digestOf = (parts: readonly Buffer[]): string =>
  createHash('sha256').update(Buffer.concat(parts)).digest('hex');

function toColumns(pairs: readonly { readonly tab: string; readonly col: string }[]): Record<string, string> {
  const tables = Object.groupBy(pairs, ({ tab }) => tab);
  return Object.fromEntries(
    Object.entries(tables).map(([tab, columns]) => [tab, (columns ?? []).map(({ col }) => col).join(' ')]),
  );
}
