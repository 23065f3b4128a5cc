import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { silentLogger } from '@svault/server-kit/logger';
import { openPlain } from '@svault/server-kit/sqlite';
import { type Id, ManualClock, Secret, fromBase64url, randomToken } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import { administer, databaseUrl } from '@svault/test-kit/test-database';
import { inject } from 'vitest';
import { openSqliteDatabase } from '../../src/store/sqlite/sqlite-database.ts';
import { fillEveryTable, oddText } from './fill-tables.ts';
import { BASE_URL } from './management-service.ts';
import { type StoredState, storedState } from './stored-state.ts';

/** A stopped SQLite database with rows in every table, and settings to move it by. */
export interface MoveSource {
  /** Of the SQLite file. */
  readonly path: string;
  readonly state: StoredState;
  /** With an empty target in `SV_DATABASE_URL_NEXT`. */
  readonly env: Readonly<Record<string, string>>;
  remove(): Promise<void>;
}

/** @param events in the log of the first account */
export async function moveSource(events = 5): Promise<MoveSource> {
  const dir = tempDir();
  const path = join(dir.path, 'control-plane.db');
  const masterKey = randomToken(32);
  const options = { clock: new ManualClock(), logger: silentLogger, opener: 'server' } as const;
  const rootKey = new Secret(fromBase64url(masterKey) ?? new Uint8Array());
  const source = await openSqliteDatabase(path, [rootKey], options);
  fillEveryTable(source.sqlite);
  for (const [account, count] of [
    [oddText(0), events],
    [oddText(1), 2],
  ] as const) {
    const event = { vaultId: account as Id<'vlt'>, eventType: 'VAULT_LOCKED', outcome: 'success' } as const;
    await source.stores.audit.appendAll(
      Array.from({ length: count }, (_, n) => ({ ...event, serviceName: oddText(n) })),
    );
  }
  await source.close();
  const env = {
    SV_BASE_URL: BASE_URL,
    SV_LISTEN: '127.0.0.1:0',
    SV_DATABASE_URL: `sqlite:${path}`,
    SV_DATABASE_URL_NEXT: await emptyTarget(),
    SV_MASTER_KEY: masterKey,
  };
  const { SV_DATABASE_URL: url } = env;
  return { path, state: storedState(url), env, remove: () => Promise.resolve(dir.remove()) };
}

/** The address of a new database without a schema, on the server of the tests, which ends with them. */
export async function emptyTarget(): Promise<string> {
  const server = inject('postgres')?.url ?? '';
  const name = `target_${randomBytes(8).toString('hex')}`;
  await administer(server, `CREATE DATABASE ${name}`);
  return databaseUrl(server, name);
}

/** Every row of every table of the source, as text, by another way than the move's. */
export async function rowsOfAll(source: MoveSource, state: StoredState): Promise<Record<string, string[]>> {
  const columns = await source.state.columns();
  const all: Record<string, string[]> = {};
  for (const [table, names] of Object.entries(columns)) {
    if (table.startsWith('sqlite_') || table === 'moved_to') continue;
    const texts = names.split(' ').map((name) => `CAST(${name} AS text) AS ${name}`);
    const rows = await state.rows(`SELECT ${texts.join()} FROM ${table}`);
    all[table] = rows.map((row) => JSON.stringify(row)).sort();
  }
  return all;
}

/** Changes the file while nothing serves on it. */
export function change(source: MoveSource, statement: string, ...values: readonly unknown[]): void {
  const db = openPlain(source.path);
  db.pragma('foreign_keys = OFF');
  db.prepare(statement).run(...values);
  db.close();
}
