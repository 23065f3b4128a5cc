import type { Response } from 'express';
import { markEventStream } from '@svault/server-kit/streamed-response';
import type { FeedReader } from '../../audit/live-feed.ts';

/** One event, as it is sent to each of its readers. */
export interface ServerSentEvent {
  readonly seq: number;
  /** In the form of the HTML standard, section 9.2.5. */
  readonly text: string;
  /** Whether a principal may have lost the right to read by it. */
  readonly mayEndSignIns: boolean;
}

/**
 * Opens a stream of events. @returns closes it, idempotent
 * @throws ApiError RATE_LIMITED
 */
export type EventFeed = (reader: FeedReader<ServerSentEvent>) => () => void;

/** Proxies close connections that are silent for longer, 30 to 60 seconds as a rule. */
const HEARTBEAT_MS = 15_000;
/** What may wait for a client that reads too slowly; more than a read of the log. */
const MAX_BACKLOG_BYTES = 1024 * 1024;
/** How long a client that resumes may take for what one read gave. */
const STALLED_MS = 60_000;

const HEADERS = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-store'],
  // nginx would collect events until its buffer is full.
  ['x-accel-buffering', 'no'],
] as const;

/**
 * Sends events until the client disconnects, the program stops, or the principal may no longer read. A client that lets too
 * much wait is disconnected; with the id of its last event it misses nothing.
 *
 * @param options.mayRead asked at each heartbeat, and before an event that may have ended the principal's sign-in is sent
 */
export function sendEvents(
  res: Response,
  feed: EventFeed,
  options: {
    readonly mayRead: () => Promise<boolean>;
    readonly heartbeatMs?: number;
    readonly maxBacklogBytes?: number;
    readonly stalledMs?: number;
  },
): void {
  const { mayRead, heartbeatMs = HEARTBEAT_MS, stalledMs = STALLED_MS } = options;
  const { maxBacklogBytes = MAX_BACKLOG_BYTES } = options;
  // The client has gone: no `close` would end the stream.
  if (res.closed) return;
  if (res.req.method === 'HEAD') return void begin(res).end();
  let resume = (): void => undefined;
  const write = (text: string | Buffer): void => {
    if (res.writableEnded || res.destroyed) return;
    res.write(text);
    if (res.writableLength > maxBacklogBytes) res.destroy();
  };
  const end = (): void => {
    res.end();
    close();
  };
  const close = feed({
    take: async (events) => {
      const mustAsk = events.some(({ mayEndSignIns }) => mayEndSignIns);
      // A stop of the program ends the response too.
      if (res.writableEnded || (mustAsk && !(await mayRead()))) return end();
      write(bytesOf(events));
    },
    drained: async () => {
      if (!res.writableNeedDrain || res.closed) return;
      const stalled = setTimeout(() => res.destroy(), stalledMs);
      await new Promise<void>((resolve) => (resume = resolve));
      clearTimeout(stalled);
    },
    onLive: () => write(': live\n\n'),
    end,
  });

  begin(res);
  markEventStream(res, HEADERS, 'standing');
  const beat = async (): Promise<void> => {
    // It was ended, and the client does not read the rest.
    if (res.writableEnded) res.destroy();
    else if (await mayRead()) write(': heartbeat\n\n');
    else end();
  };
  const heartbeat = setInterval(() => void beat(), heartbeatMs).unref();
  res.on('drain', () => resume());
  res.once('close', () => {
    clearInterval(heartbeat);
    close();
    resume();
  });
  write('retry: 3000\n\n');
}

const encoded = new WeakMap<readonly ServerSentEvent[], Buffer>();

/** Made once of a list that many streams are given. */
function bytesOf(events: readonly ServerSentEvent[]): Buffer {
  const bytes = encoded.get(events) ?? Buffer.from(events.map(({ text }) => text).join(''));
  encoded.set(events, bytes);
  return bytes;
}

function begin(res: Response): Response {
  for (const [name, value] of HEADERS) res.setHeader(name, value);
  return res.status(200);
}
