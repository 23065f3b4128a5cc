import { once } from 'node:events';
import { connect } from 'node:net';
import { type Pair, startPair } from '@svault/compose/pair';
import { type Told, callerByAgent, callerByFetch } from '@svault/test-kit/ask-until-told';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type TestDatabase, makeTestDatabase } from '@svault/test-kit/test-database';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pathFor } from './support/pair-agents.ts';
import { type StoredState, storedState } from './support/stored-state.ts';

/*
 * R31, on the database of the project: SIGTERM under load loses no request that was answered or taken, and the process is
 * gone in time, with 0.
 */

const CALLERS = 32;
const ANSWERS_BEFORE = 1_000;
const ROUNDS = 5;
/** So many answers of each caller come within the drain on a busy machine, too. */
const FEW = 2;
/** What an engine waits for before it kills. */
const GONE_WITHIN_MS = 10_000;
const HIGH = '1000000000';

const dir = tempDir();
let database: TestDatabase;
let state: StoredState;
let pair: Pair;
const keys: string[] = [];
beforeAll(async () => {
  database = await makeTestDatabase(dir.path);
  state = storedState(database.env.SV_DATABASE_URL);
  const limits = {
    SV_LIMIT_AGENT_CREDENTIALS: HIGH,
    SV_LIMIT_AGENT_NO_GRANT: HIGH,
    SV_LIMIT_USER_AGGREGATE: HIGH,
  };
  const env = { SV_LOG_LEVEL: 'error', SV_DRAIN_SECONDS: '2', ...database.env, ...limits };
  pair = await startPair({ dir: dir.path, env });
  while (keys.length < CALLERS) {
    const made = await pair.admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
      name: `caller ${keys.length}`,
    });
    await pair.admin.call('POST', `/api/agents/${made.agent.id}/grants`, {
      allowMissing: true,
      serviceName: 'github',
    });
    keys.push(made.apiKey);
  }
});
afterAll(async () => {
  await pair.stop();
  await database.remove();
  dir.remove();
});

/** Told to stop; resolves with the exit code and how long it took. */
async function stopped(): Promise<{ readonly code: number | null; readonly inTime: boolean }> {
  const { child } = pair.process('control-plane');
  const startedAt = performance.now();
  const ended = once(child, 'exit') as Promise<[number | null]>;
  child.kill('SIGTERM');
  const [code] = await ended;
  return { code, inTime: performance.now() - startedAt < GONE_WITHIN_MS };
}

const written = async (): Promise<number> =>
  Number(
    await state.value(
      `SELECT count(*) FROM audit_events WHERE event_type = 'AGENT_CREDENTIAL_ACCESS' AND outcome = 'success'`,
    ),
  );

/**
 * Load from all callers, SIGTERM in the middle of it.
 *
 * @param maxCloses how many answers that close a caller takes before it goes elsewhere; it goes, too, where nobody listens
 */
async function loadAndStop(maxCloses: number) {
  const before = await written();
  let answers = 0;
  let stop: ReturnType<typeof stopped> | undefined;
  const callers = keys.map(async (apiKey, index) => {
    const callerOf = index % 2 === 0 ? callerByAgent : callerByFetch;
    const caller = callerOf(pair.controlPlaneUrl, { authorization: `Bearer ${apiKey}` });
    const heard: Told[] = [];
    for (let closes = 0; closes < maxCloses;) {
      const told = await caller.ask({ path: pathFor('github') });
      heard.push(told);
      if ('failure' in told) {
        if (told.failure === 'refused') break;
        continue;
      }
      if (told.closes) closes += 1;
      answers += 1;
      if (answers === ANSWERS_BEFORE) stop = stopped();
    }
    caller.end();
    return heard;
  });
  const all = (await Promise.all(callers)).flat();
  const end = await stop;
  await pair.restart('control-plane');
  const count = (of: string): number =>
    all.filter((told) => ('failure' in told ? told.failure : String(told.status)) === of).length;
  const unexpected = ['cut', 'kept'].map(count);
  return { end, answered: count('307'), lost: count('new'), unexpected, rows: (await written()) - before };
}

test('whoever goes where it is told to loses nothing, and every answer is in the log', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { end, answered, lost, unexpected, rows } = await loadAndStop(FEW);
    expect([end, lost, unexpected]).toEqual([{ code: 0, inTime: true }, 0, [0, 0]]);
    expect(answered).toBeGreaterThan(ANSWERS_BEFORE);
    expect(rows).toBe(answered);
  }
});

test('whoever comes back until nobody listens gets every answer whole; for what gets none, nothing was done', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { end, answered, unexpected, rows } = await loadAndStop(Infinity);
    expect([end, unexpected]).toEqual([{ code: 0, inTime: true }, [0, 0]]);
    expect(rows).toBe(answered);
  }
});

test('a request whose body is half there when the stop comes is done when the rest does', async () => {
  const { port, hostname } = new URL(pair.controlPlaneUrl);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  const body = JSON.stringify({ name: 'half there' });
  socket.write(
    `POST /api/agents HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${pair.adminKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  );
  const stop = stopped();
  const isRed = async (): Promise<number> => (await fetch(`${pair.controlPlaneUrl}/readyz`)).status;
  await expect.poll(isRed).toBe(503);
  socket.write(body.slice(5));
  expect((await socket.toArray()).join('')).toMatch(/^HTTP\/1\.1 201 [^]*Connection: close/);
  expect(await stop).toEqual({ code: 0, inTime: true });
  await pair.restart('control-plane');
  const { items } = await pair.admin.call<{ items: { name: string }[] }>('GET', '/api/agents?limit=100');
  expect(items.map(({ name }) => name)).toContain('half there');
});
