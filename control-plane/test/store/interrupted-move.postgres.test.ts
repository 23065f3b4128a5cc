import { startPostgres } from '@svault/test-kit/postgres-server';
import { expect, onTestFinished, test } from 'vitest';
import { startWire } from '../support/database-wire.ts';
import { moveSource, rowsOfAll } from '../support/move-source.ts';
import { command } from '../support/run-program.ts';
import { storedState } from '../support/stored-state.ts';

test.each([
  ['a crash of PostgreSQL while it copies', /^INSERT INTO "audit_events"/, 'crash'],
  ['a connection that is lost before the commit', /^commit/i, 'cut before'],
  ['a connection that is lost after the commit', /^commit/i, 'cut after'],
] as const)(
  '%s ends the move with one line, and running it again finishes it',
  async (_what, statement, fault) => {
    const [source, server] = [await moveSource(), await startPostgres({ durable: true })];
    const wire = await startWire(server.url, 'postgres');
    onTestFinished(async () => {
      await wire.close();
      await server.remove();
      await source.remove();
    });
    const expected = await rowsOfAll(source, source.state);
    const env = { ...source.env, SV_DATABASE_URL_NEXT: wire.over(server.url) };
    let crashed: Promise<void> | undefined;
    // The migrations commit too.
    let isCopying = false;
    wire.fault = (text) => {
      isCopying ||= text.startsWith('INSERT INTO "vaults"');
      if (!isCopying || !statement.test(text)) return undefined;
      if (fault !== 'crash') return fault;
      crashed = server.crash();
      return 'cut before';
    };
    const { code, stderr } = await command(env, 'move-to-postgres');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/the database that SV_DATABASE_URL_NEXT names cannot be used: PostgreSQL: /),
    ]);
    expect(stderr).not.toContain('test-database-password');
    wire.fault = undefined;
    if (crashed !== undefined) {
      await crashed;
      await server.start();
    }
    expect(await rowsOfAll(source, source.state)).toEqual(expected);
    const again = await command(env, 'move-to-postgres');
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringContaining(fault === 'cut after' ? 'already' : 'compared each'),
    ]);
    expect(await rowsOfAll(source, storedState(server.url))).toEqual(expected);
  },
);
