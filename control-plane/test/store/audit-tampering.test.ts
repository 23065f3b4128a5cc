import { type Id, ManualClock, newId } from '@svault/shared';
import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import { type ChainBreak, EMPTY_CHAIN } from '@svault/shared/audit-chain';
import { verifyLog } from '../../src/audit/verify.ts';
import { AUDIT_COLUMNS } from '../../src/store/kysely/audit-rows.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
let database: Database;
let vaultId: Id<'vlt'>;

useStore((opened) => (database = opened), clock);

/** A log of ten events, half of them written on the path of credential requests. */
beforeEach(async () => {
  vaultId = newId('vlt');
  const [agentId, userId] = [newId('agt'), newId('usr')];
  await database.unitOfWork.run(vaultId, ({ vaults }) => vaults.add({ id: vaultId, createdAt: 'now' }));
  const five = Array.from({ length: 5 }, (_, n) => {
    const detail = { code: 'NO_GRANT', tags: ['é', '"'], n };
    return { vaultId, agentId, serviceName: 'github', detail } as const;
  });
  await database.unitOfWork.run(vaultId, ({ audit }) =>
    audit.appendAll(
      five.map((event) => ({
        ...event,
        userId,
        eventType: 'GRANT_CREATED',
        outcome: 'success',
        count: 2,
      })),
    ),
  );
  clock.advance(1_000);
  const asked = { eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'denied' } as const;
  const write = (event: (typeof five)[number]): Promise<boolean> =>
    database.auditCommit.write({ event: { ...event, ...asked }, touchCaller: false, onlyIf: undefined });
  await Promise.all(five.map(write));
});

const verdict = () => verifyLog(database.stores.audit, vaultId);
const events = () => sql.table('audit_events');
/** Runs statements with the database's own rights, one after the other. */
async function tamper(...statements: readonly ReturnType<typeof sql>[]): Promise<void> {
  for (const statement of statements) await statement.execute(database.kysely);
}
const setOn = (assignment: ReturnType<typeof sql>, seq: number) =>
  sql`update ${events()} set ${assignment} where vault_id = ${vaultId} and seq = ${seq}`;
const move = (from: number, to: number) => setOn(sql`seq = ${to}`, from);
const remove = (seq: number) => sql`delete from ${events()} where vault_id = ${vaultId} and seq = ${seq}`;
const OTHERS = sql.raw(AUDIT_COLUMNS.filter((column) => column !== 'seq').join(', '));
const copy = (from: number, to: number) =>
  sql`insert into ${events()} (seq, ${OTHERS})
    select cast(${to} as bigint), ${OTHERS} from ${events()} where vault_id = ${vaultId} and seq = ${from}`;

it('verifyLog accepts the log as it was written', async () => {
  expect(await verdict()).toMatchObject({ intact: true, events: 10, head: { seq: 10 } });
});

const changes: readonly (readonly [string, () => ReturnType<typeof sql>])[] = [
  ['outcome', () => sql`outcome = 'success'`],
  ['type', () => sql`event_type = 'LOGIN'`],
  ['time', () => sql`occurred_at = '2026-01-01T00:00:00.000Z'`],
  ['id', () => sql`id = 'evt_other'`],
  ['agent', () => sql`agent_id = 'agt_other'`],
  ['agent, removed', () => sql`agent_id = null`],
  ['user, added', () => sql`user_id = 'usr_other'`],
  ['proxy, added', () => sql`proxy_id = 'prx_other'`],
  ['service name', () => sql`service_name = 'gitlab'`],
  ['count, added', () => sql`event_count = 3`],
  ['detail', () => sql`detail = '{"code":"NO_GRANT","n":7,"tags":["é","\\""]}'`],
  ['detail, removed', () => sql`detail = null`],
  ['detail, malformed JSON', () => sql`detail = '{"code":'`],
  ['detail, a fraction', () => sql`detail = '{"n":1.5}'`],
  ['detail, null', () => sql`detail = 'null'`],
  ['detail, a list', () => sql`detail = '[["code"]]'`],
  ['detail, nested', () => sql`detail = '{"a":{"b":[{}]}}'`],
  ['hash', () => sql`hash = ${'0'.repeat(64)}`],
];
it.each(changes)('verifyLog finds a changed row: %s', async (_what, assignment) => {
  await tamper(setOn(assignment(), 6));
  expect(await verdict()).toEqual({ intact: false, seq: 6, problem: 'changed' });
});

const swap = (one: number, other: number) => [move(one, 1_000), move(other, one), move(1_000, other)];

it.each<[string, number, ChainBreak['problem'], () => readonly ReturnType<typeof sql>[]]>([
  ['the first row is missing', 1, 'missing', () => [remove(1)]],
  ['a row is missing', 5, 'missing', () => [remove(5)]],
  ['the last rows are missing', 9, 'cut', () => [remove(9), remove(10)]],
  ['all rows are missing', 1, 'cut', () => [sql`delete from ${events()} where vault_id = ${vaultId}`]],
  ['two rows changed places', 3, 'changed', () => swap(3, 8)],
  ['the first and the last row changed places', 1, 'changed', () => swap(1, 10)],
  ['a row was replaced by another', 8, 'changed', () => [remove(8), copy(4, 8)]],
  [
    'rows were renumbered over a removed one',
    4,
    'changed',
    () => [remove(4), ...[5, 6, 7, 8, 9, 10].map((seq) => move(seq, seq - 1))],
  ],
  ['a row was put in behind the head', 11, 'added', () => [copy(4, 11)]],
  ['a row was put in far behind the head', 1_000, 'added', () => [copy(4, 1_000)]],
  ['a row was put in before the first one', 0, 'added', () => [copy(4, 0)]],
  ['a row was put in with a number below zero', -5, 'added', () => [copy(4, -5)]],
])('verifyLog finds that %s', async (_what, seq, problem, statements) => {
  await tamper(...statements());
  expect(await verdict()).toEqual({ intact: false, seq, problem });
});

it('verifyLog finds a row of another account', async () => {
  const other = newId('vlt');
  await database.unitOfWork.run(other, ({ audit }) =>
    audit.append({ vaultId: other, eventType: 'LOGIN', outcome: 'success' }),
  );
  await tamper(remove(1), sql`update ${events()} set vault_id = ${vaultId} where vault_id = ${other}`);
  expect(await verdict()).toEqual({ intact: false, seq: 1, problem: 'changed' });
});

it('verifyLog finds a row that retention removed and that was inserted again', async () => {
  const [first] = await database.stores.audit.after(vaultId, 2, 1);
  const to = { seq: 3, hash: first?.hash ?? '' };
  await tamper(copy(2, 1_000));
  await database.unitOfWork.run(vaultId, ({ audit }) => audit.cutStart(vaultId, EMPTY_CHAIN, to));
  await tamper(move(1_000, 2));
  expect(await verdict()).toEqual({ intact: false, seq: 2, problem: 'added' });
});

it('verifyLog finds that the chain itself was deleted', async () => {
  await tamper(sql`delete from audit_chains where vault_id = ${vaultId}`);
  expect(await verdict()).toEqual({ intact: false, seq: 1, problem: 'added' });
  expect(await database.stores.audit.vaultsToVerify()).toContain(vaultId);
});

it.each([
  ['the head moved back behind rows that were taken out', sql`head_seq = 8`],
  ['another hash at the head', sql`head_hash = ${'0'.repeat(64)}`],
  ['the start moved, to hide the first rows', sql`start_seq = 3`],
])('verifyLog finds %s', async (_what, assignment) => {
  await tamper(sql`update audit_chains set ${assignment} where vault_id = ${vaultId}`);
  expect(await verdict()).toMatchObject({ intact: false });
});
