import Sqlite from 'better-sqlite3';
import fc from 'fast-check';
import { Kysely } from 'kysely';
import { expect, it } from 'vitest';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import { type PageRequest, readCursor } from '../../core/paging.ts';
import type { Schema } from '../schema.ts';
import { sqliteDialect } from '../sqlite/kysely-dialect.ts';
import { chunksOf, nameContains, pageBy } from './queries.ts';

it('hands over everything in its order, in chunks of three sizes only', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { maxLength: 700 }), (items) => {
      const chunks = [...chunksOf(items)];
      expect(chunks.flat()).toEqual(items);
      for (const { length } of chunks) expect(length).toBeOneOf([100, 10, 1]);
      expect(chunks.length).toBeLessThanOrEqual(items.length / 100 + 9 + 9);
    }),
  );
});

it('looks at 191,000 rows for a page at most, and finds what is behind them by its cursor', async () => {
  const sqlite = new Sqlite(':memory:');
  sqlite.exec(`
    CREATE TABLE folders (id TEXT, created_at TEXT, name_key TEXT);
    CREATE INDEX folders_in_order ON folders (created_at, id);
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 191003)
      INSERT INTO folders SELECT 'f' || n, printf('%06d', n), iif(n IN (999, 1000, 1001, 191002), 'a', 'b') FROM numbers`);
  const db = new Kysely<Schema>({ dialect: sqliteDialect(sqlite, createGroupCommit(sqlite)) });
  const find = (page: PageRequest) =>
    pageBy(
      ['created_at', 'id'],
      db.selectFrom('folders').select(['id', 'created_at']),
      page,
      ({ id }): string => id,
      nameContains('A'),
    );
  const read = (cursor: string | undefined) => (cursor === undefined ? undefined : readCursor(cursor, 2));

  const whole = await find({ limit: 10, after: undefined });
  expect(whole.items).toEqual(['f999', 'f1000', 'f1001']);
  expect(read(whole.nextCursor)).toEqual(['191000', 'f191000']);
  expect(await find({ limit: 10, after: read(whole.nextCursor) })).toEqual({ items: ['f191002'] });

  const full = await find({ limit: 2, after: undefined });
  expect(full.items).toEqual(['f999', 'f1000']);
  expect(read(full.nextCursor)).toEqual(['001000', 'f1000']);
  await db.destroy();
});
