import type { Logger } from '@svault/server-kit/logger';
import type { Secret } from '@svault/shared';
import type { PostgresPool as KyselyPool } from 'kysely';
import pg from 'pg';
import { connectionEnded, fromConnecting, fromStatement, isOfStatement } from './postgres-errors.ts';

/** How long anything may take, in milliseconds; 0 for as long as it takes. */
export interface Timeouts {
  /** For a connection, a free one or a new one. */
  readonly connectMs: number;
  readonly statementMs: number;
  /** For a lock that somebody else holds. */
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

/** A bounded set of connections to PostgreSQL. Whatever goes wrong on them rejects with `fromStatement`'s errors. */
export interface PostgresPool {
  /** One statement that stands alone, prepared once per connection. */
  run<Row extends object>(statement: NamedStatement, values: readonly unknown[]): Promise<readonly Row[]>;
  /** The same connections for Kysely. */
  readonly forKysely: KyselyPool;
  end(): Promise<void>;
}

export interface NamedStatement {
  readonly name: string;
  readonly text: string;
  /** It changes nothing, so it is asked again where its connection had ended. */
  readonly onlyReads?: boolean;
}

/** After a restart of the server each connection that was kept may turn out to have ended. */
const MAX_READS = 3;

/** A server that neither answers nor hangs up is given up this long after its own timeout should have spoken. */
const SILENCE_MS = 1_000;
/** A transaction whose process has stopped lets go of its locks. */
const IDLE_IN_TRANSACTION_MS = 5_000;
const KEEP_ALIVE_AFTER_MS = 10_000;

/** bigint and count as numbers, as SQLite gives them: none of ours leaves the safe integers. */
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
    // By a statement and not by the URL's options, which are the operator's.
    onConnect: (client): unknown => client.query(setAll, settings.flat()),
  });
  const note = (error: Error): void =>
    // Its message only: the driver hangs the whole connection on it.
    options.logger.warn({ reason: error.message }, 'a connection to the database has ended');
  pool.on('error', note);
  // A connection in use that ends between two statements says so to nobody else.
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
    end: () => pool.end(),
  };
}

function sessionSettings({ timeouts, session }: PoolOptions): Record<string, string> {
  return {
    statement_timeout: `${timeouts.statementMs}ms`,
    lock_timeout: `${timeouts.lockMs}ms`,
    idle_in_transaction_session_timeout: `${IDLE_IN_TRANSACTION_MS}ms`,
    // Each statement sees what was committed when it began: what follows a lock sees what its former holder did.
    default_transaction_isolation: 'read committed',
    // What was answered survives the server's crash, whatever the role's default is.
    synchronous_commit: 'on',
    ...session,
  };
}

/** Hands out connections that translate errors, and that are thrown away once one of them has broken. */
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
