import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { createLogger } from '@svault/server-kit/logger';
import { Secret, fromBase64url, systemClock } from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseSetting } from '../src/config/database-setting.ts';
import { MIGRATIONS } from '../src/store/migrations/migrations.ts';
import type { SchemaMigration } from '../src/store/migrations/schema-migration.ts';
import { openDatabase } from '../src/store/open-database.ts';
import { type FaultyWebhook, startFaultyWebhook } from './support/faulty-webhook.ts';
import { type Call, type Place, clientOf, makePlace, serveOn } from './support/management-service.ts';
import { type TestAgent, stepsOn } from './support/service-steps.ts';
import { gist } from './support/refusals.ts';
import { uniqueName } from './support/unique-name.ts';

/*
 * An upgrade of several control planes on one PostgreSQL, one after another. The new program is the present one with
 * further migrations.
 */

/** Of tables that every request reads or writes. */
const EXPAND: SchemaMigration = {
  ...{ id: 9001, name: 'a step of the new program', phase: 'expand' },
  up: async (db) => {
    const { schema } = db;
    await schema
      .createTable('teams')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .execute();
    for (const table of ['agents', 'grants', 'folders', 'audit_events']) {
      await schema
        .alterTable(table)
        .addColumn('team_id', 'text', (column) => column.references('teams.id'))
        .execute();
      await schema
        .alterTable(table)
        .addColumn('weight', 'integer', (column) => column.notNull().defaultTo(1))
        .execute();
    }
    await schema.createIndex('events_by_team').on('audit_events').columns(['team_id']).execute();
  },
};
/** What only programs that know the former step may run with. */
const CONTRACT: SchemaMigration = {
  ...{ id: 9002, name: 'a step of the next one', phase: 'contract', compatibleFrom: 9001 },
  up: (db) => db.schema.alterTable('agents').dropColumn('weight').execute(),
};

/** Of folders by one load: the account may have 1000. */
const MAX_MADE = 200;

type Service = Awaited<ReturnType<typeof serveOn>>;

let place: Place;
let old: Service;
let webhook: FaultyWebhook;
beforeAll(async () => {
  place = await makePlace({ SV_EGRESS_ALLOW: '127.0.0.0/8', ...RAISED_LIMITS });
  old = await serveOn(place);
  webhook = await startFaultyWebhook(old.clock);
  await old.admin('POST', '/api/webhook/bind', { body: webhook.offer() });
});
afterAll(async () => {
  await webhook.shut();
  await old.stop();
});

const start = (...more: readonly SchemaMigration[]): Promise<Service> =>
  serveOn(place, old.clock, { migrations: [...MIGRATIONS, ...more] });

/** Asks for credentials, lists and changes at a service until it is stopped. */
function load({ running: { url }, admin }: Service, agent: TestAgent) {
  const seen = { issued: 0, listed: 0, made: [] as string[], unexpected: [] as string[] };
  const call: Call = clientOf(url, { authorization: `Bearer ${agent.apiKey}` });
  let isOver = false;
  const lane = async (round: () => Promise<unknown>): Promise<void> => {
    while (!isOver) await round();
  };
  const expectStatus = (answer: Awaited<ReturnType<Call>>, status: number): boolean => {
    if (answer.status !== status) seen.unexpected.push(`${answer.status} ${answer.text}`);
    return answer.status === status;
  };
  const ask = async (): Promise<void> => {
    const answer = await call('GET', '/api/agents/credentials?service=granted');
    if (expectStatus(answer, 307)) seen.issued++;
  };
  const change = async (): Promise<void> => {
    const name = uniqueName('made under load');
    // Folders decide nothing: a change that accesses depend on has them try again, and fail under so many.
    if (
      seen.made.length < MAX_MADE &&
      expectStatus(await admin('POST', '/api/folders', { body: { name } }), 201)
    )
      seen.made.push(name);
    if (expectStatus(await call('GET', '/api/agents/credentials'), 200)) seen.listed++;
  };
  const lanes = [lane(ask), lane(ask), lane(change)];
  return {
    seen,
    /** Resolves when it has seen more of both. */
    goesOn: async (): Promise<void> => {
      const { issued, listed } = { ...seen };
      await expect.poll(() => seen.issued > issued + 20 && seen.listed > listed + 5).toBe(true);
    },
    stop: async () => {
      isOver = true;
      await Promise.all(lanes);
      return seen;
    },
  };
}

describe('an upgrade of several control planes', () => {
  test('while a new program migrates and serves beside old ones, and an old one starts again, no request fails and nothing is lost', async () => {
    const agent = await stepsOn(old.running.url, old.admin).agent('granted');
    const first = load(old, agent);
    const other = await start();
    const second = load(other, agent);
    await Promise.all([first.goesOn(), second.goesOn()]);

    const newer = await start(EXPAND);
    expect(
      await place.state.value('SELECT applied_by FROM schema_migrations WHERE id = 9001'),
    ).not.toBeNull();
    const third = load(newer, agent);
    await Promise.all([first.goesOn(), second.goesOn(), third.goesOn()]);

    const all = [await second.stop()];
    await other.running.close();
    const again = await start();
    const fourth = load(again, agent);
    await Promise.all([first.goesOn(), third.goesOn(), fourth.goesOn()]);
    all.push(...(await Promise.all([first.stop(), third.stop(), fourth.stop()])));

    expect(all.flatMap(({ unexpected }) => unexpected)).toEqual([]);
    const issued = all.reduce((sum, seen) => sum + seen.issued, 0);
    const logged = `FROM audit_events WHERE event_type = 'AGENT_CREDENTIAL_ACCESS' AND outcome = 'success' AND agent_id = ?`;
    expect(await place.state.value(`SELECT count(*) ${logged}`, agent.id)).toBe(issued);
    const rows = await place.state.rows<{ name: string }>('SELECT name FROM folders WHERE weight = 1');
    expect(rows.map(({ name }) => name).toSorted()).toEqual(all.flatMap(({ made }) => made).toSorted());
    expect((await newer.admin('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
    for (const { running } of [newer, again]) await running.close();
  });

  test('after a contract step, an old program that starts is rejected with both versions named, and one that knows the step before it starts', async () => {
    await (await start(EXPAND, CONTRACT)).running.close();
    await expect(start()).rejects.toThrow(
      /schema 9002 \(a step of the next one\), applied by svault \d\S+,.* knows schema 9001; this is svault \d\S+, which knows up to \d+:/,
    );
    await (await start(EXPAND)).running.close();
  });
});

test('while a backup has the tables locked, a migration waits without holding up requests and starts, and is applied after it', async () => {
  const url = place.env['SV_DATABASE_URL'] ?? '';
  const agent = await stepsOn(old.running.url, old.admin).agent('granted');
  const backup = new pg.Client({ connectionString: url });
  await backup.connect();
  // As pg_dump does.
  await backup.query('BEGIN; LOCK TABLE agents, audit_events IN ACCESS SHARE MODE');
  const log = new LogSink();
  const step: SchemaMigration = {
    ...{ id: 9003, name: 'a step that waits', phase: 'expand' },
    up: (db) => db.schema.alterTable('agents').addColumn('waited', 'text').execute(),
  };
  const opening = openDatabase(
    databaseSetting.parse(url),
    [new Secret(fromBase64url(place.env['SV_MASTER_KEY'] ?? '') ?? new Uint8Array())],
    {
      clock: systemClock,
      logger: createLogger({ name: 'new', level: 'warn', format: 'json', destination: log }),
      opener: 'server',
      migrations: [...MIGRATIONS, EXPAND, CONTRACT, step],
    },
  );
  const waits = expect.poll(() => log.text).toContain('a migration waits for a transaction');
  const under = load(old, agent);
  await waits;
  // One that starts meanwhile does not wait for the backup too.
  await (await start(EXPAND)).running.close();
  await under.goesOn();
  expect((await under.stop()).unexpected).toEqual([]);
  expect(gist(await agent.get('granted'))).toBe('307');
  await backup.query('COMMIT');
  await backup.end();
  await (await opening).close();
  expect(await place.state.value('SELECT count(*) FROM schema_migrations WHERE id = 9003')).toBe(1);
});
