import { type Id, ManualClock, formatTime, newTimeOrderedId } from '@svault/shared';
import { beforeEach, expect, it } from 'vitest';
import { type Approval, type CountedApproval, sameRequest, statusOf } from '../../src/core/approval.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';
import { type StoredAccess, storeAccess } from './stored-access.ts';

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
let database: Database;
let account: StoredAccess;

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  clock.advance(60_000);
  account = await storeAccess(database, clock);
});

async function add(changes: Partial<Approval> = {}): Promise<Approval> {
  clock.advance(1);
  const nowMs = clock.now();
  const { vaultId, agentId } = account;
  const approval: Approval = {
    ...{
      id: newTimeOrderedId('apr', nowMs),
      vaultId,
      kind: 'policy',
      callerType: 'agent',
      callerId: agentId,
    },
    ...{ serviceName: 'github', requestKey: sameRequest({ type: 'agent', id: agentId }, 'github', []) },
    ...{ request: undefined, reason: undefined, uses: 2, validSeconds: 60 },
    ...{ askedAt: formatTime(nowMs), expiresAt: formatTime(nowMs + 900_000) },
    ...{ decision: undefined, decidedAt: undefined, decidedBy: undefined },
    ...{ webhookApprovalId: undefined, url: undefined, ...changes },
  };
  await database.stores.approvals.add(approval);
  return approval;
}
const decide = (approval: Approval): Promise<void> =>
  database.stores.approvals.decide({
    ...approval,
    decision: 'approved',
    decidedAt: formatTime(clock.now()),
    decidedBy: account.userId,
  });

it('the newest of the same requests is found, with how often it was used', async () => {
  const { approvals } = database.stores;
  await add();
  const newest = await add();
  await add({ requestKey: 'another' });
  expect(await approvals.newestOf(account.vaultId, newest.requestKey)).toEqual({ ...newest, used: 0 });
  const use = { ruleId: newest.id, targetType: 'agent', targetId: account.agentId, limit: 2 } as const;
  const written: boolean[] = [];
  for (let n = 0; n < 3; n++)
    written.push(
      await database.auditCommit.write({
        event: account.event('github'),
        touchCaller: false,
        onlyIf: { ...account.onlyIf, uses: [use] },
      }),
    );
  expect(written).toEqual([true, true, false]);
  expect(await approvals.get(account.vaultId, newest.id)).toMatchObject({ used: 2 });
});

it('those that were decided are found among ids, and those of a webhook by its own', async () => {
  const { approvals } = database.stores;
  const [one, other] = [
    await add(),
    await add({ webhookApprovalId: 'apr_there', url: 'https://x', kind: 'passkey' }),
  ];
  await decide(one);
  expect(await approvals.decidedAmong([one.id, other.id, 'apr_none' as Id<'apr'>])).toEqual([one.id]);
  const found = await approvals.ofWebhook(account.vaultId, ['apr_there', 'apr_elsewhere']);
  expect(found).toEqual([{ ...other, used: 0 }]);
  const foreign = await storeAccess(database, clock);
  expect(await approvals.ofWebhook(foreign.vaultId, ['apr_there'])).toEqual([]);
  expect(await approvals.get(foreign.vaultId, one.id)).toBeUndefined();
});

it('pending ones are counted by caller and by service, and listed', async () => {
  const { approvals } = database.stores;
  const decided = await add();
  await decide(decided);
  await add({ expiresAt: formatTime(clock.now()) });
  const pending = [await add(), await add({ serviceName: 'npm' }), await add({ callerId: 'agt_other' })];
  clock.advance(1);
  const now = formatTime(clock.now());
  expect(await approvals.pendingOf(decided, now)).toEqual({ ofCaller: 2, ofService: 2 });
  const page = { limit: 10, after: undefined };
  const ids = async (at?: string) =>
    (await approvals.list(account.vaultId, at, page)).items.map(({ id }) => id);
  expect(await ids(now)).toEqual(pending.map(({ id }) => id));
  expect(await ids()).toHaveLength(5);
});

it('they go with their counts once they ended, and with their caller and their credential', async () => {
  const { approvals } = database.stores;
  const [ended, kept] = [
    await add({ expiresAt: '2026-01-01T00:00:00.000Z' }),
    await add({ serviceName: 'npm' }),
  ];
  expect(await approvals.removeBefore('2026-01-02T00:00:00.000Z', 10)).toBe(1);
  expect(await approvals.get(account.vaultId, ended.id)).toBeUndefined();
  await approvals.removeOf(account.vaultId, { serviceName: 'github' });
  expect(await approvals.get(account.vaultId, kept.id)).toBeDefined();
  await approvals.removeOf(account.vaultId, { callerId: account.agentId });
  expect(await approvals.get(account.vaultId, kept.id)).toBeUndefined();
});

it('their status follows from what was decided, the time and the uses', () => {
  const now = '2026-11-20T12:00:00.000Z';
  const status = (changes: Partial<CountedApproval>) =>
    statusOf(
      {
        kind: 'policy',
        decision: undefined,
        expiresAt: '2026-11-20T12:00:00.001Z',
        uses: 1,
        used: 0,
        ...changes,
      },
      now,
    );
  expect(status({})).toBe('pending');
  expect(status({ expiresAt: now })).toBe('expired');
  expect(status({ decision: 'denied', expiresAt: now })).toBe('denied');
  expect(status({ decision: 'approved' })).toBe('approved');
  expect(status({ decision: 'approved', used: 1 })).toBe('used');
  expect(status({ decision: 'approved', expiresAt: now })).toBe('expired');
  // A grant has an end of its own.
  expect(status({ kind: 'access', decision: 'approved', expiresAt: now })).toBe('approved');
});
