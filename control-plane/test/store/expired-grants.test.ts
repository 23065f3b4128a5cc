import { ManualClock } from '@svault/shared';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { AgentSubject } from '../../src/access/subject.ts';
import { type ExpiredGrants, createExpiredGrants } from '../../src/access/missing-grant.ts';
import type { NewAuditEvent } from '../../src/core/audit-event.ts';
import type { Database } from '../../src/store/database.ts';
import type { Stores } from '../../src/core/stores.ts';
import { useStore } from './open-store.ts';
import { type StoredAccess, storeAccess } from './stored-access.ts';

const NOW = '2026-11-20T12:00:00.000Z';
const clock = new ManualClock(Date.parse(NOW));
let database: Database;
let expiredGrants: ExpiredGrants;
let stored: StoredAccess;
/** The subject with its expired grant. */
let subject: AgentSubject;

useStore((opened) => (database = opened), clock);
beforeAll(async () => {
  expiredGrants = createExpiredGrants(database.unitOfWork);
});
beforeEach(async () => {
  stored = await storeAccess(database, clock);
  const found = await database.accessStore.find(stored.credential, 'github', clock.now());
  if (found === undefined) throw new Error('the agent was just stored');
  subject = found;
});

const remove = (): Promise<boolean> => {
  const denial: NewAuditEvent = { ...stored.event('github'), outcome: 'denied' };
  return expiredGrants.remove(subject, { expiry: { ...denial, eventType: 'GRANT_EXPIRED' }, denial });
};
const change = <T>(work: (stores: Stores) => Promise<T>): Promise<T> =>
  database.unitOfWork.run(stored.vaultId, work);
const written = async (): Promise<readonly string[]> =>
  (await database.stores.audit.after(stored.vaultId, 0, 100)).map(({ eventType }) => eventType);
const grant = () => database.stores.grants.get(stored.vaultId, stored.agentId, 'github');

it('remove deletes an expired grant once, with both events, for any number of requests', async () => {
  const outcomes = await Promise.all(Array.from({ length: 5 }, remove));
  expect(outcomes.filter(Boolean)).toHaveLength(1);
  expect(await grant()).toBeUndefined();
  expect(await written()).toEqual(['GRANT_EXPIRED', 'AGENT_CREDENTIAL_ACCESS']);
});

it('remove keeps a new grant for the same service', async () => {
  const anew = await grant();
  if (anew === undefined) throw new Error('there is a grant');
  await change(async ({ grants }) => {
    await grants.removeOfAgent(stored.vaultId, stored.agentId);
    await grants.addAll([{ ...anew, id: `${anew.id}-anew` as typeof anew.id }]);
  });
  expect(await remove()).toBe(false);
  expect(await grant()).toBeDefined();
  expect(await written()).toEqual([]);
});

it('remove keeps the grant of a vault that was locked meanwhile, and writes the denial', async () => {
  await change(({ vaults }) => vaults.setLockedAt(stored.vaultId, NOW));
  expect(await remove()).toBe(true);
  expect(await grant()).toBeDefined();
  expect(await written()).toEqual(['AGENT_CREDENTIAL_ACCESS']);
  await change(({ vaults }) => vaults.setLockedAt(stored.vaultId, undefined));
  expect(await remove()).toBe(true);
  expect(await grant()).toBeUndefined();
});
