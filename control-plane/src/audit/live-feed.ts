import { setImmediate as nextTurn } from 'node:timers/promises';
import { createConcurrencyLimit } from '@svault/server-kit/concurrency-limit';
import type { Id } from '@svault/shared';

/** Takes the events of one stream, in their order. */
export interface FeedReader<T> {
  /** Resolves when the next events may come. */
  take(events: readonly T[]): Promise<void>;
  /** Resolves when the client has taken most of what was sent, or has gone. */
  drained(): Promise<void>;
  /** Every event from before was given. */
  onLive(): void;
  /** No event will be given any more. */
  end(): void;
}

interface Stream<T> {
  readonly reader: FeedReader<T>;
  /** The last event that it was given. */
  seq: number;
  isOpen: boolean;
}

/** The streams of an account that have every event up to the last one read. */
interface Watch<T> {
  seq: number;
  readonly streams: Set<Stream<T>>;
  timer: NodeJS.Timeout | undefined;
}

/** Events of one read: a millisecond or two of work, and less text than a stream may have waiting. */
const PAGE = 100;
/** Written to in one turn of the event loop: a millisecond or two, between which requests are served. */
const STREAMS_PER_TURN = 10;
/** The key of what is counted for the whole process. */
const PROCESS = '';

/**
 * Gives the events of an account's log to open streams as they are written, by any process. However many streams an account
 * has, its new events are read once, and only while there is a stream. A stream that resumes from further back reads by
 * itself, no faster than its client takes it, and then joins the others.
 *
 * @param options.read the events above a number, oldest first
 */
export function createLiveFeed<T extends { readonly seq: number }>({
  read,
  onError,
  pollMs = 1_000,
  maxPerAccount = 100,
  maxPerProcess = 1_000,
}: {
  readonly read: (vaultId: Id<'vlt'>, seq: number, limit: number) => Promise<readonly T[]>;
  readonly onError: (error: unknown) => void;
  readonly pollMs?: number;
  readonly maxPerAccount?: number;
  readonly maxPerProcess?: number;
}) {
  const watches = new Map<Id<'vlt'>, Watch<T>>();
  const ofAccount = createConcurrencyLimit(maxPerAccount);
  const ofProcess = createConcurrencyLimit(maxPerProcess);

  const give = async (stream: Stream<T>, events: readonly T[]): Promise<void> => {
    // The same list for all streams, so that a reader can prepare it once.
    const fresh = (events[0]?.seq ?? 0) > stream.seq ? events : events.filter(({ seq }) => seq > stream.seq);
    const last = fresh.at(-1);
    if (!stream.isOpen || last === undefined) return;
    stream.seq = last.seq;
    await stream.reader.take(fresh);
  };

  const giveAll = async (streams: readonly Stream<T>[], events: readonly T[]): Promise<void> => {
    const given: Promise<void>[] = [];
    for (const [index, stream] of streams.entries()) {
      if (index % STREAMS_PER_TURN === 0 && index > 0 && events.length > 0) await nextTurn();
      given.push(give(stream, events));
    }
    await Promise.all(given);
  };

  const schedule = (vaultId: Id<'vlt'>, watch: Watch<T>, ms: number): void => {
    watch.timer = setTimeout(() => void poll(vaultId, watch), ms).unref();
  };
  const poll = async (vaultId: Id<'vlt'>, watch: Watch<T>): Promise<void> => {
    try {
      const events = await read(vaultId, watch.seq, PAGE);
      watch.seq = events.at(-1)?.seq ?? watch.seq;
      await giveAll([...watch.streams], events);
      if (watches.get(vaultId) === watch) schedule(vaultId, watch, events.length < PAGE ? pollMs : 0);
    } catch (error) {
      if (watches.get(vaultId) !== watch) return;
      watches.delete(vaultId);
      onError(error);
      for (const { reader } of watch.streams) reader.end();
    }
  };

  /** @returns false where the watch has read further meanwhile */
  const join = (vaultId: Id<'vlt'>, stream: Stream<T>): boolean => {
    let watch = watches.get(vaultId);
    if (watch === undefined) {
      watch = { seq: stream.seq, streams: new Set(), timer: undefined };
      watches.set(vaultId, watch);
      schedule(vaultId, watch, pollMs);
    }
    if (stream.seq < watch.seq) return false;
    watch.streams.add(stream);
    return true;
  };
  const leave = (vaultId: Id<'vlt'>, stream: Stream<T>): void => {
    const watch = watches.get(vaultId);
    if (watch?.streams.delete(stream) !== true || watch.streams.size > 0) return;
    clearTimeout(watch.timer);
    watches.delete(vaultId);
  };
  const catchUp = async (vaultId: Id<'vlt'>, stream: Stream<T>): Promise<void> => {
    while (stream.isOpen) {
      const events = await read(vaultId, stream.seq, PAGE);
      await give(stream, events);
      if (stream.isOpen && events.length < PAGE && join(vaultId, stream)) return stream.reader.onLive();
      await stream.reader.drained();
    }
  };

  return {
    /**
     * Opens a stream of the events above a number.
     *
     * @returns closes it, idempotent; undefined where the account or this process has the maximum open
     */
    open: (vaultId: Id<'vlt'>, seq: number, reader: FeedReader<T>): (() => void) | undefined => {
      const leaveAccount = ofAccount.take(vaultId);
      const leaveProcess = leaveAccount && ofProcess.take(PROCESS);
      if (leaveProcess === undefined) {
        leaveAccount?.();
        return undefined;
      }
      const stream: Stream<T> = { reader, seq, isOpen: true };
      catchUp(vaultId, stream).catch((error: unknown) => {
        if (!stream.isOpen) return;
        onError(error);
        reader.end();
      });
      return () => {
        stream.isOpen = false;
        leave(vaultId, stream);
        leaveAccount?.();
        leaveProcess();
      };
    },
    count: ofProcess.taken,
  };
}
