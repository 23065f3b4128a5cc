import type BetterSqlite3 from 'better-sqlite3';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { SqliteGroupCommit } from '@svault/server-kit/group-commit';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';

type Statement = BetterSqlite3.Statement<unknown[]>;

/** Query texts are few; the bound is for lists of many lengths. */
const MAX_STATEMENTS = 500;

/**
 * Kysely over a better-sqlite3 connection that the credential path uses directly too.
 *
 * Kysely's own driver prepares each query anew and lets a query of one request run in another request's open
 * transaction. This one keeps prepared statements, and lends the connection to one user at a time, whose results it hands
 * out when what they show is on the disk: an event that the webhook has must not be lost here.
 */
export function sqliteDialect(db: SqliteDatabase, groupCommit: Pick<SqliteGroupCommit, 'synced'>): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => createDriver(db, groupCommit),
    createIntrospector: (kysely) => new SqliteIntrospector(kysely),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

function createDriver(db: SqliteDatabase, groupCommit: Pick<SqliteGroupCommit, 'synced'>): Driver {
  const connection = createConnection(db);
  let inUse: Promise<void> = Promise.resolve();
  let handBack: () => void = () => undefined;
  return {
    init: () => Promise.resolve(),
    acquireConnection: async () => {
      const before = inUse;
      let done: () => void = () => undefined;
      inUse = new Promise((resolve) => (done = resolve));
      await before;
      handBack = done;
      return connection;
    },
    releaseConnection: async () => {
      handBack();
      await groupCommit.synced();
    },
    beginTransaction: () => run(() => db.exec('BEGIN IMMEDIATE')),
    commitTransaction: () => run(() => db.exec('COMMIT')),
    // After some failures, such as a full disk, SQLite has rolled back already.
    rollbackTransaction: () => run(() => void (db.inTransaction && db.exec('ROLLBACK'))),
    destroy: () => Promise.resolve(),
  };
}

const run = (work: () => unknown): Promise<void> =>
  new Promise((resolve) => {
    work();
    resolve();
  });

function createConnection(db: SqliteDatabase): DatabaseConnection {
  const statements = new Map<string, Statement>();
  const prepare = (sql: string): Statement => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    if (statements.size >= MAX_STATEMENTS) statements.clear();
    const statement: Statement = db.prepare<unknown[]>(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    executeQuery: <R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> =>
      new Promise((resolve) => {
        const statement = prepare(sql);
        if (statement.reader) return resolve({ rows: statement.all(...parameters) as R[] });
        const { changes } = statement.run(...parameters);
        resolve({ rows: [], numAffectedRows: BigInt(changes) });
      }),
    streamQuery: () => {
      throw new Error('streaming is not used here: lists are read in pages');
    },
  };
}
