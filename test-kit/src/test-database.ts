import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the tests of a project keep the service's state; absent: in SQLite. */
    postgres: { readonly url: string; readonly template: string } | undefined;
    /** A file with the schema in it, to begin with where the state is kept in SQLite; absent: an empty folder. */
    sqlite: { readonly template: string } | undefined;
    /** Where the limits of a project's tests live; absent: in the process. */
    redis: string | undefined;
  }
}

/** An empty place for one service's state, as the test's project wants it. */
export interface TestDatabase {
  readonly kind: 'sqlite' | 'postgres';
  /** The settings that name it. */
  readonly env: { readonly SV_DATABASE_URL: string; readonly SV_REDIS_URL?: string };
  remove(): Promise<void>;
}

/**
 * @param folder the test's own, which it removes itself
 * @param options.empty without the schema; in PostgreSQL it is always there
 */
export async function makeTestDatabase(
  folder: string,
  options: { readonly empty?: boolean } = {},
): Promise<TestDatabase> {
  const [postgres, redis] = [inject('postgres'), inject('redis')];
  const limits = redis === undefined ? {} : { SV_REDIS_URL: await ownRedisDatabase(redis) };
  if (postgres === undefined) {
    const path = join(folder, 'control-plane.db');
    const { template } = inject('sqlite') ?? {};
    if (template !== undefined && options.empty !== true) await copyFile(template, path);
    const env = { SV_DATABASE_URL: `sqlite:${path}`, ...limits };
    return { kind: 'sqlite', env, remove: () => Promise.resolve() };
  }
  const { url, template } = postgres;
  const name = `place_${randomBytes(8).toString('hex')}`;
  const server = await serverOf(url);
  await server.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  return {
    kind: 'postgres',
    env: { SV_DATABASE_URL: databaseUrl(url, name), ...limits },
    remove: async () => void (await server.query(`DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

let connected: Promise<pg.Client> | undefined;

/** One connection for all places of a test file; it keeps no process alive. */
function serverOf(url: string): Promise<pg.Client> {
  connected ??= (async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    // Missing in its types.
    (client as pg.Client & { unref(): void }).unref();
    return client;
  })();
  return connected;
}

/** Another database of the same server. */
export function databaseUrl(serverUrl: string, name: string): string {
  return new URL(`/${name}`, serverUrl).href;
}

/** Runs one statement that no transaction may be around. */
export async function administer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A numbered database that no other test of this run has: the server counts, since tests run in several processes. */
async function ownRedisDatabase(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setEncoding('latin1').write('INCR test-places\r\n');
  const [reply] = (await once(socket, 'data')) as [string];
  socket.destroy();
  const number = /^:(\d+)\r\n$/.exec(reply)?.[1];
  if (number === undefined) throw new Error(`Redis gives no number: ${reply}`);
  return `${url}/${number}`;
}
