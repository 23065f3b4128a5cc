import type { Logger } from '@svault/server-kit/logger';
import type { Secret } from '@svault/shared';
import type { PostgresPool as KyselyPool } from 'kysely';
import pg from 'pg';
import { connectionEnded, fromConnecting, fromStatement, isOfStatement } from './postgres-errors.ts';

/** In milliseconds; 0 for no limit. */
export interface Timeouts {
  /** For a connection, a free one or a new one. */
  readonly connectMs: number;
  readonly statementMs: number;
  /** For a lock of another transaction. */
  readonly lockMs: number;
}

export interface PoolOptions {
  readonly url: Secret;
  readonly maxConnections: number;
  readonly timeouts: Timeouts;
  /** Further settings of each session. */
  readonly session?: Readonly<Record<string, string>>;
  readonly logger: Logger;
}

/** A bounded set of connections to PostgreSQL. Statements reject with the errors of `fromStatement`. */
export interface PostgresPool {
  /** One statement in its own transaction, prepared once per connection. */
  run<Row extends object>(statement: NamedStatement, values: readonly unknown[]): Promise<readonly Row[]>;
  /** The same connections for Kysely. */
  readonly forKysely: KyselyPool;
  /** Of its connections now. */
  use(): { readonly busy: number; readonly idle: number; readonly waiting: number };
  end(): Promise<void>;
}

export interface NamedStatement {
  readonly name: string;
  readonly text: string;
  /** It changes nothing, so it is run again where its connection had ended. */
  readonly onlyReads?: boolean;
}

/** After a restart of the server each idle connection may turn out to have ended. */
const MAX_READS = 3;

/** A silent server is given up this long after its own statement timeout. */
const SILENCE_MS = 1_000;
/** The transaction of a stopped process releases its locks. */
const IDLE_IN_TRANSACTION_MS = 5_000;
const KEEP_ALIVE_AFTER_MS = 10_000;

/** bigint and count as numbers, as on SQLite: all of them are safe integers. */
const INT8 = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text'): unknown =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

export function createPostgresPool(options: PoolOptions): PostgresPool {
  const { connectMs, statementMs } = options.timeouts;
  const settings = Object.entries(sessionSettings(options));
  const setAll = `SELECT ${settings.map((_, at) => `set_config($${at * 2 + 1}, $${at * 2 + 2}, false)`).join()}`;
  const pool = new pg.Pool({
    connectionString: options.url.reveal(),
    fallback_application_name: 'svault control-plane',
    max: options.maxConnections,
    connectionTimeoutMillis: connectMs,
    query_timeout: statementMs === 0 ? undefined : statementMs + SILENCE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    types,
    // By a statement, since the URL's options belong to the operator.
    onConnect: (client): unknown => client.query(setAll, settings.flat()),
  });
  const note = (error: Error): void =>
    // Only the message: the driver attaches the whole connection.
    options.logger.warn({ reason: error.message }, 'a connection to the database has ended');
  pool.on('error', note);
  // Without a listener, a connection in use that ends between two statements would crash the process.
  pool.on('connect', (client) => void client.on('error', () => undefined));

  const runOnce = async <Row extends object>(
    { name, text }: NamedStatement,
    values: readonly unknown[],
  ): Promise<Row[]> => {
    const client = await pool.connect().catch((error: unknown) => {
      throw fromConnecting(error);
    });
    let broken = true;
    try {
      const { rows } = await client.query<Row>({ name, text, values: values as unknown[] });
      broken = false;
      return rows;
    } catch (error) {
      broken = !isOfStatement(error);
      throw fromStatement(error);
    } finally {
      client.release(broken);
    }
  };

  return {
    run: async <Row extends object>(statement: NamedStatement, values: readonly unknown[]) => {
      for (let run = 1; ; run++) {
        try {
          return await runOnce<Row>(statement, values);
        } catch (error) {
          if (statement.onlyReads !== true || run === MAX_READS || !connectionEnded(error)) throw error;
        }
      }
    },
    forKysely: forKysely(pool),
    use: () => {
      const { totalCount, idleCount: idle, waitingCount: waiting } = pool;
      return { busy: totalCount - idle, idle, waiting };
    },
    end: () => pool.end(),
  };
}

function sessionSettings({ timeouts, session }: PoolOptions): Record<string, string> {
  return {
    statement_timeout: `${timeouts.statementMs}ms`,
    lock_timeout: `${timeouts.lockMs}ms`,
    idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_MS}ms`,
    // Each statement sees what was committed when it began: after a lock, what the former holder committed.
    default_transaction_isolation: 'read committed',
    // Answered changes survive a crash of the server, whatever the role's default is.
    synchronous_commit: 'on',
    ...session,
  };
}

/** Lends connections that translate errors, and discards broken ones. */
function forKysely(pool: pg.Pool): KyselyPool {
  return {
    options: {},
    end: () => pool.end(),
    connect: async () => {
      const client = await pool.connect().catch((error: unknown) => {
        throw fromConnecting(error);
      });
      let broken: Error | undefined;
      const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
        if (broken !== undefined) throw broken;
        try {
          return await client.query(text, values as unknown[]);
        } catch (error) {
          const translated = fromStatement(error);
          if (!isOfStatement(error)) broken = translated;
          throw translated;
        }
      };
      return {
        query,
        release: (destroy?: boolean) => client.release(destroy === true || broken !== undefined),
      } as unknown as Awaited<ReturnType<KyselyPool['connect']>>;
    },
  };
}
