import { type Id, ManualClock, newId } from '@svault/shared';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { NewAuditEvent } from '../../src/core/audit-event.ts';
import { type HistorySubject, readCredentialHistory } from '../../src/audit/credential-history.ts';
import { createAuditRetention } from '../../src/audit/retention.ts';
import type { Database } from '../../src/store/database.ts';
import { silentLogger } from '@svault/server-kit/logger';
import { makeStorePlace, useStore } from './open-store.ts';

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
let database: Database;

useStore((opened) => (database = opened), clock);

type Row = 'own' | 'another service' | 'another agent' | 'of nobody';

/** A vault with rows of these kinds, oldest first, and the history that they make. */
async function vaultWith(rows: readonly Row[]) {
  const subject: HistorySubject = { vaultId: newId('vlt'), agentId: newId('agt'), serviceName: 'github' };
  const { vaultId } = subject;
  await database.unitOfWork.run(vaultId, ({ vaults }) => vaults.add({ id: vaultId, createdAt: 'now' }));
  const others: Id<'agt'> = newId('agt');
  const eventOf = (row: Row): NewAuditEvent => ({
    vaultId,
    eventType: 'AGENT_CREDENTIAL_ACCESS',
    outcome: 'success',
    ...(row !== 'of nobody' && { agentId: row === 'another agent' ? others : subject.agentId }),
    serviceName: row === 'another service' ? 'gitlab' : 'github',
  });
  const write = async (more: readonly Row[]): Promise<void> => {
    // The time of each row identifies it.
    for (const row of more) {
      clock.advance(1);
      await database.unitOfWork.run(vaultId, ({ audit }) => audit.append(eventOf(row)));
    }
  };
  await write(rows);
  const expected = async (): Promise<string[]> => {
    const events = await database.stores.audit.after(vaultId, 0, 10_000);
    const own = events.filter((event) => event.agentId === subject.agentId && event.serviceName === 'github');
    return own.map(({ timestamp }) => timestamp).toReversed();
  };
  return { subject, write, expected };
}

const call = (subject: HistorySubject, request: { limit?: number; cursor?: string | undefined }) =>
  readCredentialHistory({ log: database.stores.audit, keys: database.masterKeys }, subject, request);

async function walk(subject: HistorySubject, limit: number, between: () => Promise<void>): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const answer = await call(subject, { limit, cursor });
    if (!answer.valid) throw new Error(`refused: ${answer.argument}`);
    seen.push(...answer.history.map(({ timestamp }) => timestamp));
    cursor = answer.nextCursor;
    await between();
  } while (cursor !== undefined);
  return seen;
}

it('the pages of a history hold exactly the filtered log, also while events are written', async () => {
  const row = fc.constantFrom<Row>('own', 'own', 'another service', 'another agent', 'of nobody');
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 0, maxLength: 260 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(row, { maxLength: 3 }),
      async (rows, limit, meanwhile) => {
        const { subject, write, expected } = await vaultWith(rows);
        const before = await expected();
        expect(await walk(subject, limit, () => write(meanwhile))).toEqual(before);
      },
    ),
    { numRuns: 12 },
  );
});

it('a page reads at most 100 rows of the agent', async () => {
  const busy = Array.from(
    { length: 150 },
    () => ['another service', 'another agent', 'of nobody'] as const,
  ).flat();
  const { subject, expected } = await vaultWith(['own', ...busy]);
  const first = await call(subject, {});
  expect(first).toEqual({ valid: true, history: [], nextCursor: expect.any(String) });
  const second = await call(subject, { cursor: first.valid ? first.nextCursor : undefined });
  expect(second).toEqual({
    valid: true,
    history: (await expected()).map((timestamp) => ({
      eventType: 'AGENT_CREDENTIAL_ACCESS',
      timestamp,
      outcome: 'success',
    })),
  });
});

it('a history ends where retention has removed the rest', async () => {
  const { subject } = await vaultWith(Array.from({ length: 60 }, () => 'own'));
  const first = await call(subject, { limit: 50 });
  clock.advance(2 * 24 * 60 * 60_000);
  const { stores, unitOfWork } = database;
  await createAuditRetention({ log: stores.audit, unitOfWork, days: 1, clock, logger: silentLogger }).run();
  const second = await call(subject, { limit: 50, cursor: first.valid ? first.nextCursor : undefined });
  expect(second).toEqual({ valid: true, history: [] });
});

it('a cursor of another control plane or another database is rejected', async () => {
  const { subject } = await vaultWith(Array.from({ length: 60 }, () => 'own'));
  const first = await call(subject, { limit: 50 });
  const cursor = first.valid ? first.nextCursor : undefined;
  expect(await call({ ...subject, serviceName: 'gitlab' }, { cursor })).toEqual({
    valid: false,
    argument: 'cursor',
  });
  const elsewhere = await makeStorePlace();
  const other = await elsewhere.open(clock);
  const answer = await readCredentialHistory(
    { log: database.stores.audit, keys: other.masterKeys },
    subject,
    { cursor },
  );
  await other.close();
  await elsewhere.remove();
  expect(answer).toEqual({ valid: false, argument: 'cursor' });
});
