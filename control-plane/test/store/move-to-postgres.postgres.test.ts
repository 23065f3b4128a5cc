import { Kysely } from 'kysely';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import { holdServeLock, openPlain } from '@svault/server-kit/sqlite';
import { administer } from '@svault/test-kit/test-database';
import { describe, expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { tablesOf } from '../../src/store/move/tables.ts';
import { sqliteDialect } from '../../src/store/sqlite/kysely-dialect.ts';
import type { Schema } from '../../src/store/schema.ts';
import { change, emptyTarget, type MoveSource, moveSource, rowsOfAll } from '../support/move-source.ts';
import { makePlace } from '../support/management-service.ts';
import { command, program } from '../support/run-program.ts';
import { storedState } from '../support/stored-state.ts';

async function sourceInTest(): Promise<MoveSource> {
  const source = await moveSource();
  onTestFinished(() => source.remove());
  return source;
}

const targetOf = ({ env }: MoveSource) => storedState(env['SV_DATABASE_URL_NEXT'] ?? '');

/** Settings to use the target by. */
const onTarget = ({ env }: MoveSource): Record<string, string> => ({
  ...env,
  SV_DATABASE_URL: env['SV_DATABASE_URL_NEXT'] ?? '',
  SV_DATABASE_URL_NEXT: '',
});

describe('what is moved', () => {
  test('every value of every table, with odd text, the largest integers and nulls', async () => {
    const source = await sourceInTest();
    const expected = await rowsOfAll(source, source.state);
    for (const [table, rows] of Object.entries(expected))
      expect([table, rows.length > 0]).toEqual([table, true]);
    const { code, stdout, stderr } = await program(source.env, 'move-to-postgres');
    expect([code, stderr]).toEqual([0, 'Comparing every row\n']);
    expect(stdout).toMatch(/ intact, 5 events, head [0-9a-f]{64}\n/);
    expect(stdout).toMatch(
      /Moved \d+ rows of \d+ tables to 127\.0\.0\.1:\d+\/target_\w+, and compared each\./,
    );
    expect(stdout).not.toContain('test-database-password');
    expect(await rowsOfAll(source, targetOf(source))).toEqual(expected);
    expect(await command(onTarget(source), 'audit', 'verify')).toMatchObject({
      code: 0,
      stdout: stdout.slice(0, stdout.indexOf('Moved')),
    });
  });

  test('is every table and column that the migrations make, and PostgreSQL has no sequence to set', async () => {
    const place = await makePlace();
    onTestFinished(() => place.remove());
    const sqlite = openPlain(':memory:');
    const kysely = new Kysely<Schema>({ dialect: sqliteDialect(sqlite, createGroupCommit(sqlite)) });
    await migrate(kysely, 'sqlite');
    const moved = tablesOf(sqlite).map(({ name, columns }) => [
      name,
      columns.map((column) => column.name).join(' '),
    ]);
    const { schema_migrations, background_claims, webhook_outages, ...there } = await place.state.columns();
    expect([schema_migrations, background_claims, webhook_outages]).not.toContain(undefined);
    expect(Object.fromEntries(moved)).toEqual(there);
    expect(await place.state.value('SELECT count(*) FROM pg_sequences')).toBe(0);
    sqlite.close();
  });
});

describe('after it', () => {
  test('nothing uses the source until undo-move, and running it again changes nothing', async () => {
    const source = await sourceInTest();
    expect((await command(source.env, 'move-to-postgres')).code).toBe(0);
    const [before, there] = [await source.state.digest(), await targetOf(source).digest()];
    for (const words of [['serve'], ['owner-link'], ['audit', 'verify']]) {
      const { code, stderr } = await program(source.env, ...words);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/was moved to PostgreSQL at 127.*SV_DATABASE_URL.*undo-move/),
      ]);
    }
    const again = await command(source.env, 'move-to-postgres');
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('already')]);
    expect([await source.state.digest(), await targetOf(source).digest()]).toEqual([before, there]);
    const elsewhere = await command(
      { ...source.env, SV_DATABASE_URL_NEXT: await emptyTarget() },
      'move-to-postgres',
    );
    expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining('run undo-move first')]);

    expect((await command(source.env, 'undo-move')).code).toBe(0);
    expect((await command(source.env, 'audit', 'verify')).code).toBe(0);
    const twice = await command(source.env, 'undo-move');
    expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining('was not moved')]);
  });
});

describe('refuses, and changes neither database', () => {
  /** Runs it and expects that it fails so. */
  async function refused(source: MoveSource, said: RegExp, code = 1): Promise<void> {
    const before = await rowsOfAll(source, source.state);
    const there = await targetOf(source).digest();
    const ended = await command(source.env, 'move-to-postgres');
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(said)]);
    expect(ended.stderr).not.toContain('test-database-password');
    expect(await rowsOfAll(source, source.state)).toEqual(before);
    expect(await targetOf(source).digest()).toBe(there);
    const { stderr } = await command({ ...source.env, SV_DATABASE_URL_NEXT: '' }, 'audit', 'verify');
    expect(stderr).toBe('');
  }

  test('while a serve runs', async () => {
    const source = await sourceInTest();
    const lock = holdServeLock(source.path);
    onTestFinished(() => lock.release());
    await refused(source, /another process already serves/);
  });

  test.each([
    [
      'a NUL character',
      'CAST(? AS TEXT)',
      Buffer.from('a\0b'),
      /agents\.description of the row with id ".*NUL/s,
    ],
    [
      'text that is no UTF-8',
      'CAST(? AS TEXT)',
      Buffer.of(0x61, 0xff),
      /agents\.description.*not valid UTF-8/s,
    ],
    ['bytes in a column of text', '?', Buffer.from('ab'), /agents\.description.*another type/s],
  ])('%s, and names the row', async (_what, expression, value, said) => {
    const source = await sourceInTest();
    change(source, `UPDATE agents SET description = ${expression} WHERE rowid = 2`, value);
    await refused(source, said);
  });

  test('an integer that is too large for its column', async () => {
    const source = await sourceInTest();
    change(source, 'UPDATE agents SET mcp_enabled = ? WHERE rowid = 2', 2n ** 31n);
    await refused(source, /agents\.mcp_enabled.*another type/s);
  });

  test('a log whose chain is broken', async () => {
    const source = await sourceInTest();
    change(source, "UPDATE audit_events SET outcome = 'denied' WHERE seq = 2");
    const ended = await command(source.env, 'move-to-postgres');
    expect([ended.code, ended.stderr]).toEqual([
      1,
      expect.stringMatching(/is broken at event 2 \(changed\)/),
    ]);
    expect(await targetOf(source).value('SELECT count(*) FROM agents')).toBe(0);
    const serve = await program(onTarget(source));
    expect([serve.code, serve.stderr]).toEqual([1, expect.stringContaining('run move-to-postgres again')]);
  });

  test('a target that has rows of another installation, or the unfinished move of another', async () => {
    const [source, other] = [await sourceInTest(), await sourceInTest()];
    expect((await command(other.env, 'move-to-postgres')).code).toBe(0);
    const target = { ...source.env, SV_DATABASE_URL_NEXT: other.env['SV_DATABASE_URL_NEXT'] ?? '' };
    await refused({ ...source, env: target }, /has rows already \(in sealing_keys\)/);
    const place = await emptyTarget();
    await administer(place, "CREATE TABLE unfinished_move AS SELECT 'another' AS source");
    await refused(
      { ...source, env: { ...source.env, SV_DATABASE_URL_NEXT: place } },
      /move of another database/,
    );
  });

  test('a wrong root key, a source that is not there, and settings that do not fit', async () => {
    const source = await sourceInTest();
    const { env } = source;
    const cases: readonly (readonly [Record<string, string>, number, string])[] = [
      [{ SV_MASTER_KEY: 'A'.repeat(43) }, 1, 'SV_MASTER_KEY does not open this database'],
      [{ SV_DATABASE_URL: `sqlite:${source.path}.other` }, 1, 'there is no database at'],
      [{ SV_DATABASE_URL_NEXT: '' }, 2, 'SV_DATABASE_URL_NEXT is missing'],
      [{ SV_DATABASE_URL_NEXT: 'sqlite:x' }, 2, 'SV_DATABASE_URL_NEXT must look like postgres://'],
      [{ SV_DATABASE_URL: env['SV_DATABASE_URL_NEXT'] ?? '' }, 2, 'it must name the SQLite database'],
      [
        { SV_DATABASE_URL_NEXT: 'postgres://svault:hunter2@127.0.0.1:1/x' },
        1,
        'SV_DATABASE_URL_NEXT names cannot be used',
      ],
    ];
    for (const [changes, code, said] of cases) {
      const ended = await command({ ...env, ...changes }, 'move-to-postgres');
      expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(said)]);
      expect(ended.stderr).not.toContain('hunter2');
    }
  });
});
