import { type Pair, startPair } from '@svault/compose/pair';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type TestDatabase, makeTestDatabase } from '@svault/test-kit/test-database';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HELD_BACK, approveUntilKilled, faultsOf } from './support/approve-through-kills.ts';
import { type StoredState, storedState } from './support/stored-state.ts';

/** kill -9 of the control plane while requests are held back, approved and used, 200 times. */

const KILLS = 200;
const HIGH = '1000000';

const dir = tempDir();
let database: TestDatabase;
let state: StoredState;
let pair: Pair;

beforeAll(async () => {
  database = await makeTestDatabase(dir.path);
  state = storedState(database.env.SV_DATABASE_URL);
  const limits = {
    SV_LIMIT_AGENT_CREDENTIALS: HIGH,
    SV_LIMIT_USER_AGGREGATE: HIGH,
    SV_LIMIT_MANAGEMENT_WRITE: HIGH,
  };
  pair = await startPair({ dir: dir.path, env: { SV_LOG_LEVEL: 'error', ...database.env, ...limits } });
  await pair.admin.call('POST', '/api/tokens', { serviceName: HELD_BACK, tokenType: 'PlainText' });
  const { id } = await pair.admin.call<{ id: string }>('POST', '/api/policies', {
    ...{ name: 'people decide', enabled: true, rules: [{ type: 'manual_approval' }] },
  });
  const target = { targetType: 'token', targetId: HELD_BACK };
  await pair.admin.call('POST', `/api/policies/${id}/attachments`, target);
});
afterAll(async () => {
  await pair.stop();
  await database.remove();
  dir.remove();
});

test('over 200 kills no approval is used twice, and none is lost whose decision was answered', async () => {
  let used = 0;
  for (let kills = 0; kills < KILLS; kills += 1) {
    const reports = await approveUntilKilled(pair, 1 + Math.floor(Math.random() * 40));
    await pair.restart('control-plane');
    expect([kills, await faultsOf(pair, state, reports)]).toEqual([kills, []]);
    used += reports.reduce((sum, { tickets }) => sum + tickets, 0);
  }
  expect(used).toBeGreaterThan(KILLS);
  expect(await pair.admin.call('GET', '/api/audit/verify')).toMatchObject({ intact: true });
}, 1_200_000);
