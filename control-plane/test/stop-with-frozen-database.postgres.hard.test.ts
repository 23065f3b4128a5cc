import { once } from 'node:events';
import { type Pair, startPair } from '@svault/compose/pair';
import { callerByAgent } from '@svault/test-kit/ask-until-told';
import { type PostgresServer, startPostgres } from '@svault/test-kit/postgres-server';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { pathFor } from './support/pair-agents.ts';
import { type StoredState, storedState } from './support/stored-state.ts';

/** R31 where the database stands still when the stop comes: the process is gone all the same, and nothing is lost. */

const CALLERS = 16;
const ANSWERS_BEFORE = 300;
/** What an engine waits for before it kills. */
const GONE_WITHIN_MS = 10_000;
const HIGH = '1000000000';

const dir = tempDir();
let postgres: PostgresServer;
let state: StoredState;
let pair: Pair;
beforeAll(async () => {
  postgres = await startPostgres({ durable: true });
  state = storedState(postgres.url);
  const limits = { SV_LIMIT_AGENT_CREDENTIALS: HIGH, SV_LIMIT_USER_AGGREGATE: HIGH };
  const env = { SV_LOG_LEVEL: 'error', SV_DATABASE_URL: postgres.url, ...limits };
  pair = await startPair({ dir: dir.path, env });
});
afterAll(async () => {
  await pair.stop();
  await postgres.remove();
  dir.remove();
});

interface Agent {
  readonly id: string;
  readonly authorization: string;
}
async function newAgent(): Promise<Agent> {
  const made = await pair.admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
    name: 'caller',
  });
  const { id } = made.agent;
  await pair.admin.call('POST', `/api/agents/${id}/grants`, { allowMissing: true, serviceName: 'github' });
  return { id, authorization: `Bearer ${made.apiKey}` };
}
const statusOf = async ({ authorization }: Agent): Promise<number> => {
  const path = pathFor('github');
  const { status } = await fetch(pair.controlPlaneUrl + path, {
    headers: { authorization },
    redirect: 'manual',
  });
  return status;
};
let written = 0;
let agent: Agent;
let suspended: Agent;
beforeEach(async () => {
  [agent, suspended] = [await newAgent(), await newAgent()];
  expect(await statusOf(suspended)).toBe(307);
  written = await successes();
});
const successes = async (): Promise<number> =>
  Number(
    await state.value(
      `SELECT count(*) FROM audit_events WHERE event_type = 'AGENT_CREDENTIAL_ACCESS' AND outcome = 'success'`,
    ),
  );

/** Under load, an agent is suspended, the database stands still, and the stop comes. @returns statuses and the end */
async function freezeAndStop(whenTold: () => void) {
  const { child } = pair.process('control-plane');
  const statuses: number[] = [];
  const enough = Promise.withResolvers<void>();
  const callers = Array.from({ length: CALLERS }, async () => {
    const caller = callerByAgent(pair.controlPlaneUrl, { authorization: agent.authorization });
    for (;;) {
      const told = await caller.ask({ path: pathFor('github') });
      if ('failure' in told && told.failure === 'refused') break;
      if (!('failure' in told)) statuses.push(told.status);
      if (statuses.length > ANSWERS_BEFORE) enough.resolve();
    }
    caller.end();
  });
  await enough.promise;
  await pair.admin.call('POST', `/api/agents/${suspended.id}/suspend`);
  postgres.freeze();
  const startedAt = performance.now();
  const ended = once(child, 'exit') as Promise<[number | null]>;
  child.kill('SIGTERM');
  // It takes no connection any more, so that it has heard of the stop.
  await Promise.all(callers);
  whenTold();
  const [code] = await ended;
  const inTime = performance.now() - startedAt < GONE_WITHIN_MS;
  return { statuses, code, inTime };
}

async function expectNothingLost(statuses: readonly number[]): Promise<void> {
  await pair.restart('control-plane');
  const given = statuses.filter((status) => status === 307).length;
  expect([...new Set(statuses)].filter((status) => status !== 307 && status !== 503)).toEqual([]);
  expect(given).toBeGreaterThan(100);
  const rows = (await successes()) - written;
  expect([rows >= given, rows <= given + CALLERS]).toEqual([true, true]);
  expect(await statusOf(suspended)).not.toBe(307);
  expect(await statusOf(agent)).toBe(307);
  expect(await pair.admin.call('GET', '/api/audit/verify')).toMatchObject({ intact: true });
}

test('that stays so: it ends in time, and what was answered is there', async () => {
  const { statuses, code, inTime } = await freezeAndStop(() => undefined);
  postgres.thaw();
  // 1 where it had to give up what it could not give back.
  expect([code === 0 || code === 1, inTime]).toEqual([true, true]);
  await expectNothingLost(statuses);
});

test('and then goes on: it ends with 0', async () => {
  const { statuses, code, inTime } = await freezeAndStop(() => postgres.thaw());
  expect([code, inTime]).toEqual([0, true]);
  await expectNothingLost(statuses);
});
