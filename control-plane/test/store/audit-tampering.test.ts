import { type Id, ManualClock, newId } from '@svault/shared';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { verifyLog } from '../../src/audit/verify-log.ts';
import type { Database } from '../../src/store/database.ts';
import { type StorePlace, makeStorePlace } from './open-store.ts';

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
let place: StorePlace;
let database: Database;
let vaultId: Id<'vlt'>;

beforeAll(async () => {
  place = await makeStorePlace();
  database = await place.open(clock);
});
afterAll(async () => {
  await database.close();
  await place.remove();
});

/** A log of ten events, half of them by the path of credential requests. */
beforeEach(async () => {
  vaultId = newId('vlt');
  const [agentId, userId] = [newId('agt'), newId('usr')];
  await database.unitOfWork.run(vaultId, ({ vaults }) => vaults.add({ id: vaultId, createdAt: 'now' }));
  for (let pair = 0; pair < 5; pair++) {
    const detail = { code: 'NO_GRANT', tags: ['é', '"'], n: pair };
    const event = { vaultId, agentId, serviceName: 'github', detail } as const;
    await database.unitOfWork.run(vaultId, ({ audit }) =>
      audit.append({ ...event, userId, eventType: 'GRANT_CREATED', outcome: 'success', count: 2 }),
    );
    await database.auditCommit.write({
      event: { ...event, eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'denied' },
      touchAgent: false,
      provided: undefined,
    });
    clock.advance(1_000);
  }
});

const verdict = () => verifyLog(database.stores.audit, vaultId);
const events = () => sql.table('audit_events');
/** Runs statements as somebody would who has the database, one after the other. */
async function tamper(...statements: readonly ReturnType<typeof sql>[]): Promise<void> {
  for (const statement of statements) await statement.execute(database.kysely);
}
const setOn = (assignment: ReturnType<typeof sql>, seq: number) =>
  sql`update ${events()} set ${assignment} where vault_id = ${vaultId} and seq = ${seq}`;
const move = (from: number, to: number) => setOn(sql`seq = ${to}`, from);
const remove = (seq: number) => sql`delete from ${events()} where vault_id = ${vaultId} and seq = ${seq}`;

it('holds as it was written', async () => {
  expect(await verdict()).toMatchObject({ intact: true, events: 10, head: { seq: 10 } });
});

const changes: readonly (readonly [string, () => ReturnType<typeof sql>])[] = [
  ['the outcome', () => sql`outcome = 'success'`],
  ['the type', () => sql`event_type = 'LOGIN'`],
  ['the time', () => sql`occurred_at = '2026-01-01T00:00:00.000Z'`],
  ['the id', () => sql`id = 'evt_other'`],
  ['the agent', () => sql`agent_id = 'agt_other'`],
  ['the agent, taken out', () => sql`agent_id = null`],
  ['the user, put in', () => sql`user_id = 'usr_other'`],
  ['the proxy, put in', () => sql`proxy_id = 'prx_other'`],
  ['the service', () => sql`service_name = 'gitlab'`],
  ['the count, put in', () => sql`event_count = 3`],
  ['a detail', () => sql`detail = '{"code":"NO_GRANT","n":7,"tags":["é","\\""]}'`],
  ['the detail, taken out', () => sql`detail = null`],
  ['the hash', () => sql`hash = ${'0'.repeat(64)}`],
];
it.each(changes)('finds a row in which this was changed: %s', async (_what, assignment) => {
  await tamper(setOn(assignment(), 6));
  expect(await verdict()).toEqual({ intact: false, seq: 6, problem: 'changed' });
});

it.each([1, 2, 5, 9])('finds that row %i is missing', async (seq) => {
  await tamper(remove(seq));
  expect(await verdict()).toEqual({ intact: false, seq, problem: 'missing' });
});

it('finds that the last rows are missing', async () => {
  await tamper(remove(9), remove(10));
  expect(await verdict()).toEqual({ intact: false, seq: 9, problem: 'cut' });
});

it('finds that all rows are missing', async () => {
  await tamper(sql`delete from ${events()} where vault_id = ${vaultId}`);
  expect(await verdict()).toEqual({ intact: false, seq: 1, problem: 'cut' });
});

it.each([
  [3, 4],
  [3, 8],
  [1, 10],
])('finds that rows %i and %i changed places', async (one, other) => {
  await tamper(move(one, 1_000), move(other, one), move(1_000, other));
  expect(await verdict()).toEqual({ intact: false, seq: one, problem: 'changed' });
});

it('finds that rows moved up into the place of one that was taken out', async () => {
  await tamper(remove(4), ...[5, 6, 7, 8, 9, 10].map((seq) => move(seq, seq - 1)));
  expect(await verdict()).toEqual({ intact: false, seq: 4, problem: 'changed' });
});

it('finds a row of another account in the place of one’s own', async () => {
  const other = newId('vlt');
  await database.unitOfWork.run(other, ({ audit }) =>
    audit.append({ vaultId: other, eventType: 'LOGIN', outcome: 'success' }),
  );
  await tamper(remove(1), sql`update ${events()} set vault_id = ${vaultId} where vault_id = ${other}`);
  expect(await verdict()).toEqual({ intact: false, seq: 1, problem: 'changed' });
});

it.each([
  ['the head moved back behind rows that were taken out', sql`head_seq = 8`],
  ['another hash at the head', sql`head_hash = ${'0'.repeat(64)}`],
  ['the start moved, to hide the first rows', sql`start_seq = 3`],
])('finds %s', async (_what, assignment) => {
  await tamper(sql`update audit_chains set ${assignment} where vault_id = ${vaultId}`);
  expect(await verdict()).toMatchObject({ intact: false });
});
