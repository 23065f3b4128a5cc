import { expect, it } from 'vitest';
import { createWorkQueue } from './work-queue.ts';

/** Pieces of work that end when they are told to. */
function pieces(count: number) {
  const ends: (() => void)[] = [];
  let [running, most] = [0, 0];
  const work = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => ends.push(resolve));
    running--;
  };
  return { all: Array.from({ length: count }, () => work), ends, most: () => most };
}

it('runs a few at a time, in the order in which they came, and refuses what it cannot keep waiting', async () => {
  const queue = createWorkQueue({ running: 2, waiting: 3 });
  const { all, ends, most } = pieces(6);
  const results = all.map((work) => queue(work));
  await expect(results[5]).rejects.toMatchObject({ code: 'UNAVAILABLE', details: { retryAfter: 2 } });
  for (let ended = 0; ended < 5; ended++) {
    while (ends.length <= ended) await Promise.resolve();
    ends[ended]?.();
  }
  await Promise.all(results.slice(0, 5));
  expect(most()).toBe(2);
});

it('goes on after a piece of work that failed', async () => {
  const queue = createWorkQueue({ running: 1, waiting: 1 });
  await expect(queue(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  await expect(queue(() => Promise.resolve('done'))).resolves.toBe('done');
});
