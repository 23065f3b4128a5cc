import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listen } from '@svault/server-kit/listener';
import { silentLogger } from '@svault/server-kit/logger';
import { ManualClock } from '@svault/shared';
import { ensureOwner } from '../../src/sign-in/bootstrap.ts';
import { createApp } from '../../src/app.ts';
import { controlPlaneConfig } from '../../src/config/config.ts';
import { type Context, createContext } from '../../src/context.ts';
import { inDatabase } from '../support/database-files.ts';
import { type Call, clientOf, makePlace } from '../support/management-service.ts';
import { uniqueName } from '../support/unique-name.ts';

let context: Context;
let path: string;
let admin: Call;
let stop: () => Promise<void>;

beforeAll(async () => {
  const place = await makePlace();
  path = place.databasePath;
  const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
  const config = controlPlaneConfig(place.env);
  context = await createContext(config, { clock, logger: silentLogger });
  await context.unitOfWork.runAcross((stores) => ensureOwner(stores, config.bootstrap, clock));
  const listener = await listen(createApp(context).listener, config.listen);
  admin = clientOf(listener.url, { authorization: `Bearer ${place.adminKey}` });
  stop = async () => {
    await listener.close();
    await context.close();
    await place.remove();
  };
});
afterAll(() => stop());

const create = () =>
  admin('POST', '/api/agents', { body: { name: uniqueName('x'), description: 'y'.repeat(1_000) } });
const countOf = (table: string): number =>
  inDatabase(path, (db) => db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0);

test('R21: on a full disk a change is 503 and undone with its event, and goes through once there is room', async () => {
  await create();
  const pages = inDatabase(path, (db) => Number(db.pragma('page_count', { simple: true })));
  // SQLite's own limit, on the service's connection: the error is the one that a full disk gives.
  await sql.raw(`PRAGMA max_page_count = ${pages}`).execute(context.database.kysely);
  let answer = await create();
  while (answer.status === 201) answer = await create();
  expect([answer.status, answer.json.code]).toEqual([503, 'UNAVAILABLE']);
  expect(Number(answer.headers.get('retry-after'))).toBe(answer.json.retryAfter);

  const before = { agents: countOf('agents'), events: countOf('audit_events') };
  expect((await create()).status).toBe(503);
  expect({ agents: countOf('agents'), events: countOf('audit_events') }).toEqual(before);
  expect((await admin('GET', '/api/agents')).json.items).toHaveLength(before.agents);

  await sql`PRAGMA max_page_count = 1000000`.execute(context.database.kysely);
  expect((await create()).status).toBe(201);
  expect({ agents: countOf('agents'), events: countOf('audit_events') }).toEqual({
    agents: before.agents + 1,
    events: before.events + 1,
  });
});
