import { ManualClock, newId } from '@svault/shared';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEntry, AccessPrecondition, AgentPrecondition } from '../../src/audit/audit-writer.ts';
import type { Database } from '../../src/store/database.ts';
import type { Stores } from '../../src/core/stores.ts';
import { type StorePlace, makeStorePlace } from './open-store.ts';
import { type StoredAccess, type StoredSession, storeAccess, storeSession } from './stored-access.ts';

// An access is written down only where all that it rests on holds at that moment.

const NOW = '2026-11-20T12:00:00.000Z';
const HOUR_MS = 3_600_000;
let clock: ManualClock;
let place: StorePlace;
let database: Database;
let stored: StoredAccess;
let session: StoredSession;

beforeAll(async () => {
  clock = new ManualClock(Date.parse(NOW));
  place = await makeStorePlace();
  database = await place.open(clock);
});
afterAll(async () => {
  await database.close();
  await place.remove();
});
beforeEach(async () => {
  stored = await storeAccess(database, clock);
  session = await storeSession(database, clock, stored, HOUR_MS);
});

const change = <T>(work: (stores: Stores) => Promise<T>): Promise<T> =>
  database.unitOfWork.run(stored.vaultId, work);
const entryOf = (onlyIf: AccessPrecondition): AuditEntry => ({
  event: stored.event('github'),
  touchCaller: true,
  onlyIf,
});
const write = (onlyIf: AccessPrecondition): Promise<boolean> => database.auditCommit.write(entryOf(onlyIf));
const written = async (): Promise<number> =>
  (await database.stores.audit.after(stored.vaultId, 0, 100)).length;

type Way = readonly [string, () => AgentPrecondition];
const BY_KEY: Way = ['by key', () => stored.onlyIf];
const BY_KEY_AT_MCP: Way = ['by key at MCP', () => ({ ...stored.onlyIf, withMcpOn: true })];
const BY_SESSION: Way = [
  'by session',
  () => ({ ...stored.onlyIf, credential: session.credential, withMcpOn: true }),
];

type Change = readonly [string, (stores: Stores) => Promise<unknown>];
const GIVEN_ANOTHER_KEY: Change = [
  'given another key',
  ({ agents }) =>
    agents.setKey(stored.vaultId, stored.agentId, {
      keyHash: newId('agt'),
      keyPrefix: 'svagent_',
      keyWrapped: 'wrapped',
    }),
];
const WITHOUT_MCP: Change = [
  'without MCP',
  ({ agents }) => agents.update(stored.vaultId, stored.agentId, { mcpEnabled: false }),
];
const WITHOUT_ITS_SESSION: Change = [
  'without its session',
  ({ sessions }) => sessions.remove(stored.vaultId, session.sessionId, undefined),
];

const OF_EVERYBODY: readonly Change[] = [
  ['suspended', ({ agents }) => agents.setStatus(stored.vaultId, stored.agentId, 'suspended')],
  ['deleted', ({ agents }) => agents.markDeleted(stored.vaultId, stored.agentId)],
  ['left without its grant', ({ grants }) => grants.removeOfAgent(stored.vaultId, stored.agentId)],
  ['locked out with its vault', ({ vaults }) => vaults.setLockedAt(stored.vaultId, NOW)],
  ['without a webhook', ({ webhookLinks }) => webhookLinks.delete(stored.vaultId)],
];

describe.each([
  [BY_KEY, [...OF_EVERYBODY, GIVEN_ANOTHER_KEY], [WITHOUT_MCP, WITHOUT_ITS_SESSION]],
  [BY_KEY_AT_MCP, [...OF_EVERYBODY, GIVEN_ANOTHER_KEY, WITHOUT_MCP], [WITHOUT_ITS_SESSION]],
  [BY_SESSION, [...OF_EVERYBODY, WITHOUT_MCP, WITHOUT_ITS_SESSION], [GIVEN_ANOTHER_KEY]],
] as const)('an access %0', ([, onlyIf], withdrawals, harmless) => {
  it('is written down while it stands', async () => {
    expect(await write(onlyIf())).toBe(true);
    expect(await written()).toBe(1);
  });

  it.each(withdrawals)('is left out where the agent was %s meanwhile', async (_what, withdraw) => {
    await change(withdraw);
    const other: AuditEntry = { ...entryOf(onlyIf()), onlyIf: undefined };
    const outcomes = await Promise.all([write(onlyIf()), database.auditCommit.write(other)]);
    expect([outcomes, await written()]).toEqual([[false, true], 1]);
  });

  it.each(harmless)('stands though the agent was %s meanwhile', async (_what, happen) => {
    await change(happen);
    expect(await write(onlyIf())).toBe(true);
  });

  it('is left out where it was decided under other policies', async () => {
    const { policyRevision } = stored.onlyIf;
    expect(await write({ ...onlyIf(), policyRevision: policyRevision + 1 })).toBe(false);
    expect(await write(onlyIf())).toBe(true);
  });

  it("is left out where the grant or the credential is another agent's", async () => {
    const other = await storeAccess(database, clock);
    const foreign = await storeSession(database, clock, other);
    const { grantId } = other.onlyIf;
    for (const change of [{ grantId }, { credential: other.credential }, { credential: foreign.credential }])
      expect(await write({ ...onlyIf(), ...change })).toBe(false);
    expect(await written()).toBe(0);
  });
});

describe("a session's access token", () => {
  const [, bySession] = BY_SESSION;

  it('stands until its time and no longer', async () => {
    clock.advance(HOUR_MS - 1);
    expect(await write(bySession())).toBe(true);
    clock.advance(1);
    expect(await write(bySession())).toBe(false);
  });

  it('stands at its audience alone', async () => {
    const elsewhere = { ...session.credential, audience: 'https://service.example/' };
    expect(await write({ ...bySession(), credential: elsewhere })).toBe(false);
  });

  it('is no key, and a key is no token', async () => {
    const { hash } = session.credential;
    expect(await write({ ...bySession(), credential: { kind: 'key', hash } })).toBe(false);
    const key = { ...session.credential, hash: stored.credential.hash };
    expect(await write({ ...bySession(), credential: key })).toBe(false);
  });
});

it('accesses by key and by session that come together are each looked at by themselves', async () => {
  const [byKey, bySession] = [BY_KEY[1](), BY_SESSION[1]()];
  await change(WITHOUT_ITS_SESSION[1]);
  const twenty = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? byKey : bySession));
  const outcomes = await Promise.all(twenty.map(write));
  expect(outcomes).toEqual(twenty.map((onlyIf) => onlyIf === byKey));
  expect(await written()).toBe(10);
});
