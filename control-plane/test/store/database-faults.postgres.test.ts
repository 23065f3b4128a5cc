import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Wire, startWire } from '../support/database-wire.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { type Answer, type ManagementService, clientOf, serveOn } from '../support/management-service.ts';
import type { TestAgent } from '../support/service-steps.ts';

/*
 * R24: whatever becomes of PostgreSQL, the process lives, refuses with 503 and Retry-After, and goes on as soon as the
 * database does; what was answered is in the log, and what was suspended stays so. What needs a server of its own, or
 * timeouts, is in database-outage.postgres.hard.test.ts.
 */

let linked: LinkedService;
let service: ManagementService;
let wire: Wire;
let agent: TestAgent;

beforeAll(async () => {
  linked = await startLinkedService();
  await linked.bind();
  const { apiKey, id } = await linked.agent('github');
  await linked.running.close();
  const { place } = linked;
  wire = await startWire(place.env['SV_DATABASE_URL'] ?? '', 'postgres');
  const SV_DATABASE_URL = wire.over(place.env['SV_DATABASE_URL'] ?? '');
  const env = {
    ...place.env,
    SV_DATABASE_URL,
    SV_LIMIT_AGENT_CREDENTIALS: '100000',
    SV_LIMIT_USER_AGGREGATE: '100000',
  };
  service = await serveOn({ ...place, env }, linked.clock);
  const call = clientOf(service.running.url, { authorization: `Bearer ${apiKey}` });
  agent = {
    id,
    apiKey,
    get: (name) => call('GET', `/api/agents/credentials?service=${name}`),
    list: () => call('GET', '/api/agents/credentials'),
  };
});
afterAll(async () => {
  await service.running.close();
  await wire.close();
  await linked.stop();
});
afterEach(() => {
  wire.fault = undefined;
  wire.restore();
});

const state = () => linked.place.state;
const successes = async (): Promise<number> =>
  (await state().value(
    "SELECT count(*) FROM audit_events WHERE event_type = 'AGENT_CREDENTIAL_ACCESS' AND outcome = 'success'",
  )) as number;
const eventsOf = async (type: string): Promise<number> =>
  (await state().value('SELECT count(*) FROM audit_events WHERE event_type = ?', type)) as number;
const named = async (name: string): Promise<number> =>
  (await state().value('SELECT count(*) FROM agents WHERE name = ?', name)) as number;

/** All that a caller may be told while the database is away. */
function expectUnavailable(answer: Answer, code: string): void {
  expect([answer.status, answer.json]).toEqual([
    503,
    expect.objectContaining({ code, retryAfter: expect.any(Number) }),
  ]);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
}

/** Returns once they have ended: one that ends later would take the next request with it. */
const terminate = (): Promise<unknown> =>
  state().rows(
    'SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
const makeAgent = (name: string): Promise<Answer> => service.admin('POST', '/api/agents', { body: { name } });

test('idle connections that are killed fail no request', async () => {
  await Promise.all(Array.from({ length: 8 }, () => agent.get('github')));
  await terminate();
  expect((await agent.get('github')).status).toBe(307);
  expect((await agent.list()).status).toBe(200);
});

test('connections killed under load lead to 503, or to responses that are in the log, and a suspended agent stays suspended', async () => {
  const before = await successes();
  const answers: Answer[] = [];
  let over = false;
  const load = Array.from({ length: 6 }, async () => {
    while (!over) answers.push(await agent.get('github'));
  });
  for (let left = 4; left > 0; left--) {
    const answered = answers.length;
    await expect.poll(() => answers.length, { interval: 5 }).toBeGreaterThan(answered + 12);
    await terminate();
  }
  over = true;
  await Promise.all(load);
  for (const answer of answers.filter(({ status }) => status !== 307))
    expectUnavailable(answer, answer.json.code === 'UNAVAILABLE' ? 'UNAVAILABLE' : 'AUDIT_UNAVAILABLE');
  const given = answers.filter(({ status }) => status === 307).length;
  const written = (await successes()) - before;
  expect(written).toBeGreaterThanOrEqual(given);
  expect(written).toBeLessThanOrEqual(answers.length);
  expect((await service.admin('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });

  expect((await service.admin('POST', `/api/agents/${agent.id}/suspend`)).status).toBe(200);
  for (let left = 3; left > 0; left--) {
    const asked = Array.from({ length: 10 }, () => agent.get('github'));
    await terminate();
    for (const { status } of await Promise.all(asked)) expect(status).toBeOneOf([403, 503]);
  }
  expect((await service.admin('POST', `/api/agents/${agent.id}/resume`)).status).toBe(200);
});

test('an unreachable database leads to 503 at once, also at /readyz, and requests succeed again with the first connection', async () => {
  wire.cut();
  expectUnavailable(await agent.get('github'), 'UNAVAILABLE');
  expectUnavailable(await agent.list(), 'UNAVAILABLE');
  expectUnavailable(await service.admin('GET', '/api/agents'), 'UNAVAILABLE');
  expect((await service.anyone('GET', '/readyz')).status).toBe(503);
  expect((await service.anyone('GET', '/healthz')).status).toBe(200);
  wire.restore();
  expect((await agent.get('github')).status).toBe(307);
  expect((await service.anyone('GET', '/readyz')).status).toBe(200);
});

/** Lets one statement meet a fault. */
function once(statement: RegExp, fault: 'cut before' | 'cut after'): void {
  wire.fault = (text) => {
    if (!statement.test(text)) return undefined;
    wire.fault = undefined;
    return fault;
  };
}

test.each([
  ['cut before', 0],
  ['cut after', 1],
] as const)(
  'a credential whose write is %s: no ticket, and an event only where it was written',
  async (fault, events) => {
    await agent.get('github');
    const before = await successes();
    once(/^svault_record$/, fault);
    expectUnavailable(await agent.get('github'), 'AUDIT_UNAVAILABLE');
    expect(await successes()).toBe(before + events);
    expect((await agent.get('github')).status).toBe(307);
    expect(await successes()).toBe(before + events + 1);
  },
);

/** Lets the commit of the transaction with this statement meet a fault, and no commit of what goes on in the background. */
function onceAtCommit(statement: RegExp, fault: 'cut before' | 'cut after'): void {
  let changing: object | undefined;
  wire.fault = (text, connection) => {
    if (statement.test(text)) changing = connection;
    if (connection !== changing || !/^commit$/i.test(text)) return undefined;
    wire.fault = undefined;
    return fault;
  };
}

test.each([
  ['cut before', 0],
  ['cut after', 1],
] as const)(
  'a change whose commit is %s: not told as done; change and event are both there or neither',
  async (fault, done) => {
    const name = `commit ${fault}`;
    const before = await eventsOf('AGENT_CREATED');
    onceAtCommit(/^insert into "agents"/, fault);
    expectUnavailable(await makeAgent(name), 'UNAVAILABLE');
    expect([await named(name), (await eventsOf('AGENT_CREATED')) - before]).toEqual([done, done]);
    expect((await makeAgent(`after ${fault}`)).status).toBe(201);
  },
);

test('a change whose connection is lost midway is undone, and blocks no other', async () => {
  const before = await eventsOf('AGENT_CREATED');
  once(/^insert into "agents"/, 'cut after');
  expectUnavailable(await makeAgent('half'), 'UNAVAILABLE');
  expect([await named('half'), await eventsOf('AGENT_CREATED')]).toEqual([0, before]);
  expect((await makeAgent('next')).status).toBe(201);
});

/** The next writes of the events' table fail with these, in this order; others do not. */
async function failing(...states: readonly string[]): Promise<void> {
  const cases = states.map(
    (sqlState, at) => `WHEN ${at + 1} THEN RAISE EXCEPTION USING ERRCODE = '${sqlState}';`,
  );
  await state().run(`
    DROP SEQUENCE IF EXISTS fault_number; CREATE SEQUENCE fault_number;
    CREATE OR REPLACE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      CASE nextval('fault_number') ${cases.join(' ')} ELSE RETURN NEW; END CASE;
    END $$;
    CREATE OR REPLACE TRIGGER fault BEFORE INSERT ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION fault()`);
}

test('a change is repeated once after a deadlock or a serialization failure, and reported as done', async () => {
  await failing('40P01', '40001');
  const before = await eventsOf('AGENT_CREATED');
  expect((await makeAgent('deadlocked')).status).toBe(201);
  expect([await named('deadlocked'), await eventsOf('AGENT_CREATED')]).toEqual([1, before + 1]);
  await failing('40001', '40P01');
  const accesses = await successes();
  expect((await agent.get('github')).status).toBe(307);
  expect(await successes()).toBe(accesses + 1);
});

test.each([
  ['a full disk', '53100'],
  ['no memory', '53200'],
  ['a deadlock that comes back each time', '40P01', '40P01', '40P01'],
  ['a statement that took too long', '57014'],
])('%s leads to 503, without a ticket, a change or an event', async (_what, ...states) => {
  const before = [await successes(), await eventsOf('AGENT_CREATED'), await named('unlucky')];
  await failing(...states);
  expectUnavailable(await agent.get('github'), 'AUDIT_UNAVAILABLE');
  await failing(...states);
  expectUnavailable(await makeAgent('unlucky'), 'UNAVAILABLE');
  expect([await successes(), await eventsOf('AGENT_CREATED'), await named('unlucky')]).toEqual(before);
  expect((await agent.get('github')).status).toBe(307);
});

test('/readyz is 503 from the first write that finds the disk full, and 200 again once there is room', async () => {
  const tables = ['audit_events', 'schema_migrations'];
  const ready = async (): Promise<unknown[]> => {
    // Past the pause between two trial writes.
    linked.clock.advance(2_000);
    const { status, json } = await service.anyone('GET', '/readyz');
    return [status, json.error ?? json.status];
  };
  await state().run(`
    CREATE OR REPLACE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION USING ERRCODE = '53100';
    END $$`);
  for (const table of tables)
    await state().run(
      `CREATE TRIGGER disk_is_full BEFORE INSERT ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION disk_is_full()`,
    );
  expectUnavailable(await agent.get('github'), 'AUDIT_UNAVAILABLE');
  expect(await ready()).toEqual([503, 'the disk of the database is full; try again once there is room']);
  for (const table of tables) await state().run(`DROP TRIGGER disk_is_full ON ${table}`);
  expect(await ready()).toEqual([200, 'ok']);
  expect(await state().value('SELECT count(*) FROM schema_migrations WHERE id < 0')).toBe(0);
  expect((await agent.get('github')).status).toBe(307);
});

test('on a read-only server, such as a standby, reads succeed and writes are 503', async () => {
  const database = new URL(linked.place.env['SV_DATABASE_URL'] ?? '').pathname.slice(1);
  await state().run(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
  await terminate();
  expect((await agent.list()).status).toBe(200);
  expectUnavailable(await agent.get('github'), 'AUDIT_UNAVAILABLE');
  expectUnavailable(await makeAgent('unwritten'), 'UNAVAILABLE');
  await state().run(
    `BEGIN READ WRITE; ALTER DATABASE ${database} RESET default_transaction_read_only; COMMIT`,
  );
  await terminate();
  expect((await agent.get('github')).status).toBe(307);
  expect((await makeAgent('written')).status).toBe(201);
});

test('the log verifies after these faults', async () => {
  expect((await service.admin('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
});
