import { setImmediate as nextTurn } from 'node:timers/promises';
import { newId } from '@svault/shared';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { type FeedReader, createLiveFeed } from './live-feed.ts';

interface Numbered {
  readonly seq: number;
}

const MINE = newId('vlt');
const THEIRS = newId('vlt');

/** A log that grows, and a feed of it. */
function feedOf(limits: { readonly maxPerAccount?: number; readonly maxPerProcess?: number } = {}) {
  const log = { head: 0, reads: [] as number[], failure: undefined as Error | undefined };
  const errors: unknown[] = [];
  const feed = createLiveFeed<Numbered>({
    read: async (_vaultId, seq, limit) => {
      log.reads.push(seq);
      const found = Array.from({ length: Math.min(limit, log.head - seq) }, (_, n) => ({ seq: seq + n + 1 }));
      await nextTurn();
      if (log.failure !== undefined) throw log.failure;
      return found;
    },
    onError: (error) => errors.push(error),
    pollMs: 1,
    ...limits,
  });
  return { feed, log, errors };
}

/** Notes what it is given. */
function noting() {
  const noted = { seqs: [] as number[], isLive: false, isEnded: false };
  const reader: FeedReader<Numbered> = {
    take: async (events) => {
      noted.seqs.push(...events.map(({ seq }) => seq));
      await nextTurn();
    },
    drained: () => nextTurn(),
    onLive: () => (noted.isLive = true),
    end: () => (noted.isEnded = true),
  };
  return { noted, reader };
}

const range = (after: number, to: number): number[] =>
  Array.from({ length: to - after }, (_, n) => after + n + 1);

test('each stream gets every event above its number once and in order, whenever it opens while the log grows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(350),
      fc.array(fc.record({ grows: fc.nat(120), turns: fc.nat(6), back: fc.nat(400) }), { maxLength: 8 }),
      async (before, steps) => {
        const { feed, log } = feedOf();
        log.head = before;
        const opened: { after: number; noted: ReturnType<typeof noting>['noted']; close?: () => void }[] = [];
        for (const { grows, turns, back } of steps) {
          const after = Math.max(0, log.head - back);
          const { noted, reader } = noting();
          const close = feed.open(MINE, after, reader);
          opened.push({ after, noted, ...(close && { close }) });
          for (let turn = 0; turn < turns; turn++) await nextTurn();
          log.head += grows;
        }
        await vi.waitFor(() => {
          for (const { after, noted } of opened) expect(noted.seqs).toHaveLength(log.head - after);
        });
        for (const { after, noted, close } of opened) {
          expect(noted.seqs).toEqual(range(after, log.head));
          close?.();
        }
      },
    ),
    { numRuns: 20 },
  );
});

test('of 60 streams each gets every event once and in order, one that opens while they are given too', async () => {
  const { feed, log } = feedOf();
  const streams = Array.from({ length: 60 }, () => noting());
  for (const { reader } of streams) feed.open(MINE, 0, reader);
  await vi.waitFor(() => expect(streams.every(({ noted }) => noted.isLive)).toBe(true));
  log.head = 250;
  const late = noting();
  await vi.waitFor(() => expect(streams[0]?.noted.seqs.length).toBeGreaterThan(0));
  feed.open(MINE, 0, late.reader);
  for (const { noted } of [...streams, late])
    await vi.waitFor(() => expect(noted.seqs).toEqual(range(0, 250)));
});

test('a stream that takes its last older events slowly misses none that the others get meanwhile', async () => {
  const { feed, log } = feedOf();
  log.head = 3;
  const [live, slow] = [noting(), noting()];
  const closes = [feed.open(MINE, 0, live.reader)];
  await vi.waitFor(() => expect(live.noted.isLive).toBe(true));
  const { promise: taken, resolve } = Promise.withResolvers<void>();
  const take = (events: readonly Numbered[]) => slow.reader.take(events).then(() => taken);
  closes.push(feed.open(MINE, 0, { ...slow.reader, take }));
  await vi.waitFor(() => expect(slow.noted.seqs).toEqual([1, 2, 3]));
  log.head = 5;
  await vi.waitFor(() => expect(live.noted.seqs).toEqual(range(0, 5)));
  resolve();
  await vi.waitFor(() => expect(slow.noted).toEqual({ seqs: range(0, 5), isLive: true, isEnded: false }));
  for (const close of closes) close?.();
});

test('new events are read once, however many streams wait for them, and not at all without a stream', async () => {
  const { feed, log } = feedOf();
  const streams = Array.from({ length: 10 }, () => noting());
  const closes = streams.map(({ reader }) => feed.open(MINE, 0, reader));
  await vi.waitFor(() => expect(streams.every(({ noted }) => noted.isLive)).toBe(true));
  log.reads.length = 0;
  log.head = 5;
  await vi.waitFor(() => expect(streams.every(({ noted }) => noted.seqs.length === 5)).toBe(true));
  expect(log.reads.filter((seq) => seq === 0).length).toBeLessThan(10);
  // One read at a time, by one reader.
  expect(log.reads).toEqual(log.reads.toSorted((one, other) => one - other));
  for (const close of closes) close?.();
  // A read that was under way ends first.
  await nextTurn();
  const { length } = log.reads;
  for (let turn = 0; turn < 100; turn++) await nextTurn();
  expect(log.reads).toHaveLength(length);
});

test('an account has so many streams, the process so many of all, and a closed one makes room', () => {
  const { feed } = feedOf({ maxPerAccount: 2, maxPerProcess: 3 });
  const open = (vaultId: typeof MINE) => feed.open(vaultId, 0, noting().reader);
  const [first, second, third] = [open(MINE), open(MINE), open(THEIRS)];
  expect([open(MINE), open(THEIRS)]).toEqual([undefined, undefined]);
  first?.();
  first?.();
  const again = open(THEIRS);
  expect(again).toBeDefined();
  expect(open(MINE)).toBeUndefined();
  for (const close of [second, third, again]) close?.();
});

test('a log that cannot be read ends the streams, with one error, and a later stream is served', async () => {
  const { feed, log, errors } = feedOf();
  const streams = [noting(), noting()];
  const closes = streams.map(({ reader }) => feed.open(MINE, 0, reader));
  await vi.waitFor(() => expect(streams.every(({ noted }) => noted.isLive)).toBe(true));
  log.failure = new Error('no database');
  await vi.waitFor(() => expect(streams.every(({ noted }) => noted.isEnded)).toBe(true));
  expect(errors).toEqual([log.failure]);
  log.failure = undefined;
  log.head = 3;
  const { noted, reader } = noting();
  closes.push(feed.open(MINE, 1, reader));
  await vi.waitFor(() => expect(noted).toEqual({ seqs: [2, 3], isLive: true, isEnded: false }));
  log.head = 4;
  await vi.waitFor(() => expect(noted.seqs).toEqual([2, 3, 4]));
  for (const close of closes) close?.();
});
