import { ManualClock, newId } from '@svault/shared';
import { beforeAll, expect, it } from 'vitest';
import type { AuditFilter } from '../../src/core/audit-store.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';

const clock = new ManualClock(Date.UTC(2026, 10, 20));
const vaultId = newId('vlt');
const agentId = newId('agt');
let database: Database;

useStore((opened) => (database = opened), clock);
beforeAll(async () => {
  await database.unitOfWork.run(vaultId, async ({ audit }) => {
    const numbers = Array.from({ length: 4_500 }, (_, index) => index + 1);
    await audit.appendAll(
      numbers.map((seq) => ({
        vaultId,
        eventType: 'GRANT_CREATED',
        outcome: 'success',
        ...(seq % 2 === 0 && { agentId }),
        serviceName: seq === 4 ? 'rare' : 'common',
      })),
    );
  });
});

const scan = async (filter: AuditFilter, limit: number, before?: number) => {
  const { audit } = database.stores;
  const { events, reached } = await audit.scan(vaultId, filter, { limit, before });
  return { seqs: events.map(({ seq }) => seq), reached };
};

it('scan reads a bounded number of rows for a filter without an index', async () => {
  expect(await scan({ serviceName: 'rare' }, 10)).toEqual({ seqs: [], reached: 2_501 });
  expect(await scan({ serviceName: 'rare' }, 10, 2_501)).toEqual({ seqs: [], reached: 501 });
  expect(await scan({ serviceName: 'rare' }, 10, 501)).toEqual({ seqs: [4], reached: undefined });
  expect(await scan({ serviceName: 'rare' }, 10, 1)).toEqual({ seqs: [], reached: undefined });
});

it('scan begins at the newest row where it is asked for rows behind a number that is not reached yet', async () => {
  const newest = await scan({ serviceName: 'nothing' }, 10);
  expect(await scan({ serviceName: 'nothing' }, 10, 1_000_000_000)).toEqual(newest);
});

it("scan reads an agent's own rows only", async () => {
  expect(await scan({ agentId, serviceName: 'rare' }, 10)).toEqual({ seqs: [], reached: 4002 });
  expect(await scan({ agentId, serviceName: 'rare' }, 10, 402)).toEqual({ seqs: [4], reached: undefined });
  expect(await scan({ agentId }, 2, 8)).toEqual({ seqs: [6, 4], reached: 4 });
});

it('scan stops at the limit', async () => {
  expect(await scan({}, 2)).toEqual({ seqs: [4_500, 4_499], reached: 4_499 });
  expect(await scan({ serviceName: 'common' }, 2, 5)).toEqual({ seqs: [3, 2], reached: 2 });
  expect(await scan({}, 10, 3)).toEqual({ seqs: [2, 1], reached: undefined });
});
