import { ManualClock, formatTime } from '@svault/shared';
import { beforeEach, expect, it } from 'vitest';
import type { AccessPrecondition, AuditEntry } from '../../src/audit/audit-writer.ts';
import type { NewAuditEvent } from '../../src/core/audit-event.ts';
import { AUDIT_EVENT_TYPES, changesDecisions } from '../../src/core/audit-event.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';
import { type StoredAccess, storeAccess } from './stored-access.ts';

// An access is written only while the account is as its decision read it.

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00.000Z'));
let database: Database;
let stored: StoredAccess;

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  stored = await storeAccess(database, clock);
});

const write = (onlyIf: AuditEntry['onlyIf']): Promise<boolean> =>
  database.auditCommit.write({ event: stored.event('github'), touchCaller: true, onlyIf });
const append = ({ vaultId }: StoredAccess, ...types: NewAuditEvent['eventType'][]): Promise<void> =>
  database.unitOfWork.run(vaultId, ({ audit }) =>
    audit.appendAll(types.map((eventType) => ({ vaultId, eventType, outcome: 'success' }))),
  );
const accesses = async (): Promise<number> =>
  (await database.stores.audit.after(stored.vaultId, 0, 100)).filter(({ agentId }) => agentId !== undefined)
    .length;
/** The precondition of an access that is decided now. */
const now = async (): Promise<AccessPrecondition> => {
  const subject = await database.accessStore.find(stored.credential, 'github', clock.now());
  if (subject === undefined) throw new Error('the agent is stored');
  return { ...stored.onlyIf, accountRevision: subject.accountRevision };
};

it('an access is written while its account is unchanged', async () => {
  expect(await write(stored.onlyIf)).toBe(true);
  expect(await write(stored.onlyIf)).toBe(true);
  expect(await accesses()).toBe(2);
});

it.each(AUDIT_EVENT_TYPES)(
  'an access that was decided before %s is written only if the event reports no change',
  async (type) => {
    await append(stored, type);
    const isWritten = !changesDecisions(type);
    expect([await write(stored.onlyIf), await accesses()]).toEqual([isWritten, isWritten ? 1 : 0]);
    expect(await write(await now())).toBe(true);
  },
);

it.each(['AGENT_CREATED', 'GRANT_CREATED', 'PROXY_CREATED'] as const)(
  'an access that was decided before %s is written: what is new takes nothing from it',
  async (type) => {
    await append(stored, type, type);
    expect(await write(stored.onlyIf)).toBe(true);
  },
);

it('a change among events that report none is a change', async () => {
  await append(stored, 'LOGIN', 'AGENT_SUSPENDED', 'LOGIN');
  expect(await write(stored.onlyIf)).toBe(false);
});

it('a change that is undone raises no revision', async () => {
  const undone = database.unitOfWork.run(stored.vaultId, async ({ audit }) => {
    await audit.append({ vaultId: stored.vaultId, eventType: 'VAULT_LOCKED', outcome: 'success' });
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  expect(await write(stored.onlyIf)).toBe(true);
});

it("an access does not depend on another account's changes", async () => {
  await append(await storeAccess(database, clock), 'VAULT_LOCKED');
  expect(await write(stored.onlyIf)).toBe(true);
});

it('an access that shows an access token is written until the token expires', async () => {
  const onlyIf = { ...stored.onlyIf, expiresAt: formatTime(clock.now() + 1_000) };
  clock.advance(999);
  expect(await write(onlyIf)).toBe(true);
  clock.advance(1);
  expect([await write(onlyIf), await accesses()]).toEqual([false, 1]);
});

it('events that are written together each keep their own precondition', async () => {
  await append(stored, 'POLICY_ATTACHED');
  const [current, expiresAt] = [await now(), formatTime(clock.now())];
  const some = [current, stored.onlyIf, undefined, { ...current, expiresAt }, current];
  const asked = Array.from({ length: 4 }, () => some).flat();
  const outcomes = await Promise.all(asked.map(write));
  expect(outcomes).toEqual(asked.map((onlyIf) => onlyIf === undefined || onlyIf === current));
  expect(await accesses()).toBe(12);
});
