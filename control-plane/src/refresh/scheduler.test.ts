import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { forEachConcurrently } from './scheduler.ts';

async function* numbers(count: number): AsyncGenerator<number> {
  for (let n = 0; n < count; n++) yield n;
}

it('forEachConcurrently runs up to the limit at once, each item once, and a slow one delays no other', async () => {
  const [done, slow] = [[] as number[], Promise.withResolvers<void>()];
  let atOnce = 0;
  let most = 0;
  const working = forEachConcurrently(3, numbers(20), async (n) => {
    most = Math.max(most, ++atOnce);
    await (n === 1 ? slow.promise : nextTurn());
    atOnce--;
    done.push(n);
    if (done.length === 19) slow.resolve();
  });
  await working;
  expect(most).toBe(3);
  expect(done.at(-1)).toBe(1);
  expect(done.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
});

it('forEachConcurrently ends at once without items', async () => {
  await forEachConcurrently(3, numbers(0), () => Promise.reject(new Error('nothing to work on')));
});
