import type { AnswerHead } from '@svault/shared/egress';
import { finished } from 'node:stream/promises';
import { PassThrough, type Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { holdUntil } from './held-answer.ts';

const HEAD: AnswerHead = { status: 200, fields: [] };
const CHUNK = Buffer.alloc(8 * 1024);

function held() {
  const disk = Promise.withResolvers<void>();
  const [taken, target] = [[] as AnswerHead[], new PassThrough()];
  target.on('error', () => undefined);
  const take = holdUntil(disk.promise, (head) => (taken.push(head), target));
  return { disk, taken, target, take };
}
/** As an upstream that never stops, and waits when it is asked to. */
function fill(stream: Writable): number {
  let chunks = 1;
  while (stream.write(CHUNK)) chunks += 1;
  return chunks;
}

it('takes no more than a stream’s buffer before the disk has the use, and passes all of it on afterwards', async () => {
  const { disk, taken, target, take } = held();
  const stream = take(HEAD);
  const chunks = fill(stream);
  stream.end();
  await nextTurn();
  expect(chunks * CHUNK.byteLength).toBeLessThanOrEqual(stream.writableHighWaterMark + CHUNK.byteLength);
  expect([taken, target.readableLength]).toEqual([[], 0]);
  disk.resolve();
  const received = await target.toArray();
  expect([taken, Buffer.concat(received as Buffer[]).byteLength]).toEqual([
    [HEAD],
    chunks * CHUNK.byteLength,
  ]);
  await finished(stream);
});

it('goes on at the target’s pace', async () => {
  const { disk, target, take } = held();
  const stream = take(HEAD);
  disk.resolve();
  await nextTurn();
  for (let turn = 0; turn < 10; turn++) {
    if (!stream.writableNeedDrain) fill(stream);
    await nextTurn();
  }
  expect(target.readableLength + target.writableLength).toBeLessThan(1_000_000);
  expect(stream.writableNeedDrain).toBe(true);
});

it('passes nothing on, and ends, where the disk fails', async () => {
  const { disk, taken, target, take } = held();
  const stream = take(HEAD);
  stream.end(CHUNK);
  disk.reject(new Error('EIO'));
  await expect(finished(stream)).rejects.toThrow('EIO');
  expect([taken, target.readableLength]).toEqual([[], 0]);
});

it('is the target’s stream itself once the disk has the use, and breaks off with it before', async () => {
  const { disk, target, take } = held();
  const early = take(HEAD);
  disk.resolve();
  await nextTurn();
  expect(take(HEAD)).toBe(target);
  target.destroy();
  await expect(finished(early)).rejects.toThrow();
});
