import { Ending, type Id } from '@svault/shared';
import { describe, expect, test } from 'vitest';
import { MAX_WAITING, createApprovalWaiters } from './approval-waiters.ts';

const LONG_MS = 60_000;

function waitersWith({
  decided = [],
  learnStates = () => Promise.resolve(),
}: {
  readonly decided?: readonly string[];
  readonly learnStates?: Parameters<typeof createApprovalWaiters>[0]['learnStates'];
} = {}) {
  const reads: (readonly string[])[] = [];
  const errors: unknown[] = [];
  const waiters = createApprovalWaiters({
    approvals: {
      decidedAmong: (ids) => {
        reads.push(ids);
        return Promise.resolve(ids.filter((id) => decided.includes(id)));
      },
    },
    learnStates,
    onError: (error) => void errors.push(error),
  });
  return { waiters, reads, errors };
}

const open = (id: string, vaultId = 'vlt_1', webhookApprovalId?: string) => ({
  ...{ vaultId: vaultId as Id<'vlt'>, id: id as Id<'apr'>, webhookApprovalId },
});

describe('waiting for approvals', () => {
  test('ends with a decision of this process', async () => {
    const { waiters } = waitersWith();
    const waiting = [1, 2].map(() => waiters.wait(open('a'), LONG_MS, new Ending()));
    const other = new Ending();
    const another = waiters.wait(open('b'), LONG_MS, other);
    waiters.wake('a');
    expect(await Promise.all(waiting)).toEqual([true, true]);
    other.abort();
    expect(await another).toBe(false);
  });

  test('ends with a decision of another process, which one read for all finds', async () => {
    const { waiters, reads } = waitersWith({ decided: ['a', 'b'] });
    const waiting = ['a', 'b'].map((id) => waiters.wait(open(id), LONG_MS, new Ending()));
    await waiters.poll();
    expect(await Promise.all(waiting)).toEqual([true, true]);
    expect(reads).toEqual([['a', 'b']]);
    await waiters.poll();
    expect(reads).toHaveLength(1);
  });

  test('asks each webhook once for all that waits for it, and a webhook that is away delays no other', async () => {
    const asked: [string, readonly string[]][] = [];
    const { waiters } = waitersWith({
      decided: ['a', 'b'],
      learnStates: (vaultId, ids) => {
        asked.push([vaultId, ids]);
        return String(vaultId) === 'vlt_2' ? new Promise(() => undefined) : Promise.resolve();
      },
    });
    const waiting = ['a', 'b'].map((id) => waiters.wait(open(id, 'vlt_1', `w${id}`), LONG_MS, new Ending()));
    const ending = new Ending();
    void waiters.wait(open('c', 'vlt_2', 'wc'), LONG_MS, ending);
    await waiters.poll();
    expect(await Promise.all(waiting)).toEqual([true, true]);
    // One that has not answered yet is not asked again.
    await waiters.poll();
    expect(asked).toEqual([
      ['vlt_1', ['wa', 'wb']],
      ['vlt_2', ['wc']],
    ]);
    ending.abort();
  });

  test('ends with its time', async () => {
    expect(await waitersWith().waiters.wait(open('a'), 1, new Ending())).toBe(false);
  });

  test('does not begin for a client that has gone, nor once the program is about to end', async () => {
    const { waiters } = waitersWith();
    const gone = new Ending();
    gone.abort();
    expect(await waiters.wait(open('a'), LONG_MS, gone)).toBe(false);
    const waiting = waiters.wait(open('a'), LONG_MS, new Ending());
    waiters.end();
    expect([await waiting, await waiters.wait(open('a'), LONG_MS, new Ending())]).toEqual([false, false]);
  });

  test('is bounded for an account and for the process', async () => {
    const { waiters } = waitersWith();
    const ending = new Ending();
    const wait = (vaultId: string) => waiters.wait(open('a', vaultId), LONG_MS, ending);
    const waiting: Promise<boolean>[] = [];
    for (let account = 0; account < MAX_WAITING.ofProcess / MAX_WAITING.ofAccount; account++) {
      for (let n = 0; n < MAX_WAITING.ofAccount; n++) waiting.push(wait(`vlt_${account}`));
      expect(await wait(`vlt_${account}`)).toBe(false);
    }
    expect(await wait('vlt_other')).toBe(false);
    waiters.wake('a');
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
    const again = wait('vlt_other');
    ending.abort();
    expect(await again).toBe(false);
  });
});
