import { readFileSync } from 'node:fs';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentOn } from '../support/pair-agents.ts';

let pair: TestPair;
let admin: pg.Client;
beforeAll(async () => {
  pair = await startPair();
  admin = new pg.Client({ connectionString: pair.databaseUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await pair.close();
});

const RUNBOOK = readFileSync(new URL('../../../docs/operate/runbook.md', import.meta.url), 'utf8');

test('the query of the runbook names the session that a request waits for, and the request goes on when that is ended', async () => {
  const agent = await agentOn(pair, 'github');
  const console = new pg.Client({ connectionString: pair.databaseUrl, application_name: 'a console' });
  const ended = new Promise((resolve) => console.on('error', resolve));
  await console.connect();
  await console.query('BEGIN; LOCK TABLE audit_events IN SHARE MODE');
  const asked = agent.ask('github');

  const [, query = ''] = /```sql\n(.*?)```/s.exec(RUNBOOK) ?? [];
  // Of all sessions of the server, which other tests use as well.
  const look = async () =>
    (await admin.query(query)).rows.find(({ application_name: name }) => name === 'a console');
  await expect.poll(look).toMatchObject({
    state: 'idle in transaction',
    blocking_query: expect.stringContaining('LOCK TABLE audit_events'),
  });
  const { blocked_by: pid } = await look();
  expect(RUNBOOK).toContain('`SELECT pg_terminate_backend(PID)`');
  await admin.query('SELECT pg_terminate_backend($1)', [pid]);
  await ended;

  expect((await asked).status).toBe(307);
});
