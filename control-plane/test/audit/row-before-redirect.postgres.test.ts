import { type TestPair, startPair } from '@svault/test-kit/pair';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentOn } from '../support/pair-agents.ts';
import { storedState } from '../support/stored-state.ts';

// On PostgreSQL, whose lock shows what waits; row-before-redirect.sqlite.test.ts looks into the files.

let pair: TestPair;
beforeAll(async () => {
  pair = await startPair();
});
afterAll(() => pair.close());

test('the row is written before the redirect leaves', async () => {
  const state = storedState(pair.databaseUrl);
  const agent = await agentOn(pair, 'github');
  const holder = new pg.Client({ connectionString: pair.databaseUrl });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE audit_events IN SHARE MODE');
  let answered = false;
  const asked = agent.ask('github').finally(() => (answered = true));
  const waiting = () =>
    state.value(
      `SELECT count(*) FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%svault_record%'`,
    );
  await expect.poll(waiting).toBe(1);
  expect(answered).toBe(false);
  await holder.query('COMMIT');
  await holder.end();
  expect((await asked).status).toBe(307);
  const written =
    "SELECT count(*) FROM audit_events WHERE agent_id = ? AND event_type = 'AGENT_CREDENTIAL_ACCESS'";
  expect(await state.value(written, agent.id)).toBe(1);
});
