import { systemClock } from '@svault/shared';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseSetting } from '../../src/config/database-setting.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { openDatabase } from '../../src/store/open-database.ts';
import { asTool } from '../../src/commands/with-database.ts';
import { type Wire, startWire } from '../support/database-wire.ts';
import { type Place, makePlace, serveOn } from '../support/management-service.ts';
import { keyOf } from './open-store.ts';

/* Processes that start on an empty database at the same time, and interrupted starts. */

const PROCESSES = 5;

let place: Place;
beforeEach(async () => {
  place = await makePlace();
  await place.state.run('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
});
afterEach(() => place.remove());

const open = (url = place.env['SV_DATABASE_URL'] ?? '') =>
  openDatabase(databaseSetting.parse(url), [keyOf(1)], { ...asTool(systemClock), opener: 'server' });
const all = { length: PROCESSES };
const migrated = () => place.state.rows('SELECT id, name FROM schema_migrations ORDER BY id');
const EVERY_STEP = MIGRATIONS.map(({ id, name }) => ({ id, name })).toSorted((a, b) => a.id - b.id);

describe('processes that start at the same time', () => {
  it('apply each migration once, and have the same data encryption key', async () => {
    const opened = await Promise.all(Array.from(all, () => open()));
    expect(await migrated()).toEqual(EVERY_STEP);
    const wrapped = opened[0]?.masterKeys.wrap(Uint8Array.of(7), 'purpose') ?? new Uint8Array();
    for (const { masterKeys } of opened) expect([...masterKeys.unwrap(wrapped, 'purpose')]).toEqual([7]);
    for (const database of opened) await database.close();
  });

  it('create one owner with one login link', async () => {
    const services = await Promise.all(Array.from(all, () => serveOn(place)));
    const accounts = await Promise.all(services.map(({ admin }) => admin('GET', '/api/me')));
    expect(new Set(accounts.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(accounts[0]?.status).toBe(200);
    expect(await place.state.value('SELECT count(*) FROM vaults')).toBe(1);
    expect(services.filter(({ running }) => running.ownerLink !== undefined)).toHaveLength(1);
    for (const { running } of services) await running.close();
  });
});

describe('an interrupted start', () => {
  let wire: Wire;
  beforeEach(async () => {
    wire = await startWire(place.env['SV_DATABASE_URL'] ?? '', 'postgres');
  });
  afterEach(() => wire.close());

  it.each(['cut before', 'cut after'] as const)(
    'a start whose connection is %s a step leaves whole steps',
    async (fault) => {
      for (const stepsDone of [1, 4, 6]) {
        let left = stepsDone;
        wire.fault = (text) => (/^commit$/i.test(text) && --left === 0 ? fault : undefined);
        await expect(open(wire.over(place.env['SV_DATABASE_URL'] ?? ''))).rejects.toThrow('PostgreSQL: ');
      }
      wire.fault = undefined;
      const database = await open();
      expect(await migrated()).toEqual(EVERY_STEP);
      // The steps of several starts make the same schema as those of one start.
      const tables = await place.state.columns();
      await database.close();
      await place.state.run('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
      await (await open()).close();
      expect(await place.state.columns()).toEqual(tables);
    },
  );

  it('a start that ends while it waits for another one releases none of its locks', async () => {
    const first = await open();
    await sql`SELECT 1`.execute(first.kysely);
    wire.fault = (text) => (text.includes('pg_advisory_lock') ? 'cut after' : undefined);
    await expect(open(wire.over(place.env['SV_DATABASE_URL'] ?? ''))).rejects.toThrow('PostgreSQL: ');
    const second = await open();
    for (const database of [first, second]) await database.close();
  });
});
