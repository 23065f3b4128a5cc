import { ApiFailure, answerOf, api } from '../api/client.ts';
import { readEvents } from './event-stream.ts';
import type { AuditEvent } from './event-words.ts';

/** The newest events of the log, as they are written. */
export interface LiveLog {
  /** Newest first, of a bounded number. */
  readonly events: readonly AuditEvent[];
  readonly status: 'connecting' | 'live' | 'disconnected';
  /** Why there is no connection, where the control plane says it. */
  readonly reason?: string | undefined;
  /** How many events came since they are held back. */
  readonly held: number;
}

export const NO_LOG: LiveLog = { events: [], status: 'connecting', held: 0 };

/** Events that arrive within this are shown together: a flood changes the page a few times a second. */
const TICK_MS = 250;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/**
 * Follows the log until it is closed. After a break it connects again, after pauses that grow. The newest events are read once
 * the stream is open: between the two nothing is missed, however long the break was, and no more than `max` is ever kept.
 *
 * @param options.matches which events are kept
 * @param options.newest reads at most `max` events that match, newest first
 */
export function followLog(options: {
  readonly max: number;
  readonly matches: (event: AuditEvent) => boolean;
  readonly newest: (signal: AbortSignal) => Promise<readonly AuditEvent[]>;
  readonly onChange: (log: LiveLog) => void;
}) {
  const { max, matches, newest, onChange } = options;
  const closed = new AbortController();
  let log = NO_LOG;
  let waiting: AuditEvent[] = [];
  let tick: ReturnType<typeof setTimeout> | undefined;
  let isHeld = false;
  let held = 0;
  let failures = 0;

  const show = (change: Partial<LiveLog>): void => {
    log = { ...log, ...change };
    if (!closed.signal.aborted) onChange(log);
  };
  const lastSeen = (): number => Math.max(log.events[0]?.seq ?? 0, waiting.at(-1)?.seq ?? 0);
  const flush = (): void => {
    tick = undefined;
    if (isHeld) return show({ held });
    const fresh = waiting.toReversed();
    waiting = [];
    held = 0;
    show({ events: [...fresh, ...log.events].slice(0, max), held });
  };
  const take = (events: readonly AuditEvent[]): void => {
    const fresh = events.filter((event) => event.seq > lastSeen() && matches(event));
    if (fresh.length === 0) return;
    waiting = [...waiting, ...fresh].slice(-max);
    held += fresh.length;
    tick ??= setTimeout(flush, TICK_MS);
  };

  /** Ends with the stream. @throws what breaks it, and where `signal` is aborted */
  const followOnce = async (signal: AbortSignal): Promise<void> => {
    const call = api.GET('/api/events', { signal, parseAs: 'stream' });
    const stream = await answerOf(call as Promise<{ data: ReadableStream<Uint8Array>; response: Response }>);
    const events = await newest(signal);
    failures = 0;
    if (isHeld && log.events.length > 0) take(events.toReversed());
    else {
      waiting = [];
      show({ events });
    }
    show({ status: 'live', reason: undefined });
    await readEvents(stream, take);
  };

  const run = async (): Promise<void> => {
    while (!closed.signal.aborted) {
      const once = new AbortController();
      const error = await followOnce(AbortSignal.any([closed.signal, once.signal])).catch(
        (thrown: unknown) => thrown,
      );
      once.abort();
      if (error instanceof ApiFailure && error.status === 401) return show({ status: 'disconnected' });
      show({ status: 'disconnected', reason: error instanceof ApiFailure ? error.message : undefined });
      await pause(pauseMs(failures++), closed.signal);
    }
  };
  void run();

  return {
    /** Shows no new events, but counts them, until it is let go. */
    hold: (hold: boolean): void => {
      isHeld = hold;
      if (!hold && held > 0) flush();
    },
    close: (): void => {
      clearTimeout(tick);
      closed.abort();
    },
  };
}

/** Doubles with each failure, and differs between the pages that have lost the same control plane. */
const pauseMs = (failures: number): number =>
  Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS) * (0.5 + Math.random() / 2);

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
