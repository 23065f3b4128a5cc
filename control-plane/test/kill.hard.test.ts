import { type Pair, startPair } from '@svault/compose/pair';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type TestDatabase, makeTestDatabase } from '@svault/test-kit/test-database';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { crashDrill } from './support/crash-drill.ts';
import { type StoredState, storedState } from './support/stored-state.ts';

/*
 * R1, with policies and limits on, on the database of the project. Two kills of it run with every `npm test`:
 * kill.sqlite.test.ts.
 */

/**
 * A floor that load reaches now and then. The process forgets with each kill what it counted, Redis does not: some
 * fifteen answers for each caller of a round, and as many rounds as fit into a minute.
 */
const FLOOR = { sqlite: '14', postgres: '150' };
const HIGH = '1000000';

const dir = tempDir();
let database: TestDatabase;
let state: StoredState;
let pair: Pair;

beforeAll(async () => {
  database = await makeTestDatabase(dir.path);
  state = storedState(database.env.SV_DATABASE_URL);
  const limits = {
    SV_LIMIT_AGENT_CREDENTIALS: FLOOR[database.kind],
    SV_LIMIT_AGENT_NO_GRANT: HIGH,
    SV_LIMIT_USER_AGGREGATE: HIGH,
  };
  pair = await startPair({ dir: dir.path, env: { SV_LOG_LEVEL: 'error', ...database.env, ...limits } });
});
afterAll(async () => {
  await pair.stop();
  await database.remove();
  dir.remove();
});

test('100 times kill -9 under 32-way load: every answered access is in the log once, here and at the webhook', async () => {
  const told = await crashDrill(pair, {
    state,
    dir: dir.path,
    callers: 32,
    kills: 100,
    // From the first answer after a start, while the outbox is still being shipped, to well into the load.
    answersBeforeKill: (round) => 1 + ((round * 61) % 500),
  });
  expect(told.limited).toBeGreaterThan(0);
  expect(told.granted).toEqual(new Set(['307', '403 POLICY_DENIED', '429 POLICY_DENIED']));
});

test('kills of both at once lose no event and write none twice', async () => {
  await crashDrill(pair, {
    state,
    dir: dir.path,
    callers: 8,
    kills: 10,
    answersBeforeKill: (round) => 50 + 20 * round,
    meanwhile: async () => {
      await pair.process('webhook').kill();
      await pair.restart('webhook');
    },
  });
  expect(await pair.admin.call('GET', '/api/webhook')).toMatchObject({ reachable: true });
});
