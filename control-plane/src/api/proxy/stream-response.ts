import { markEventStream } from '@svault/server-kit/streamed-response';
import type { ServerResponse } from 'node:http';

const NOTHING = Buffer.alloc(0);

/** PROTOCOL.md section 5.6: on every response of an upstream, in place of its own: no page, no script, no cache. */
const OURS: ReadonlyArray<readonly [name: string, value: string]> = [
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', 'sandbox'],
  ['cache-control', 'no-store'],
];
const OUR_NAMES: ReadonlySet<string> = new Set(OURS.map(([name]) => name));

/** How long a client may take nothing while data waits for it; twice as long at most. */
const STALLED_MS = 5 * 60_000;

/** The head of a response, with its fields as sent. */
interface Head {
  readonly status: number;
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>;
}

/**
 * Writes the head of an upstream's response to a client at once, and returns the stream that takes the body: the response
 * itself, since a `Writable` of each call, and all that hangs on it, outlives every minor collection. Destroying it breaks the
 * connection, as nothing else says that the response is incomplete.
 */
export const createStreamResponse =
  ({ stalledMs = STALLED_MS }: { readonly stalledMs?: number } = {}) =>
  (res: ServerResponse) =>
  ({ status, fields }: Head): ServerResponse => {
    const theirs = fields.filter(
      // RFC 9110 section 8.6: a 204 has no length, and a client that reads one may wait for a body.
      ([name]) => !OUR_NAMES.has(name) && !(status === 204 && name === 'content-length'),
    );
    res.writeHead(status, [...theirs, ...OURS].flat());
    markEventStream(res, theirs, res.req.method === 'GET' ? 'standing' : 'answering');
    // A response that is over by then takes its head along. Not `flushHeaders`, which writes Latin-1 values as UTF-8.
    setImmediate(() => {
      if (res.writableFinished || res.destroyed) return;
      if (!res.writableEnded) res.write(NOTHING);
      disconnectStalled(res, stalledMs);
    });
    return res;
  };

/** Disconnects a client that takes nothing while data waits for it: it occupies an upstream meanwhile. */
function disconnectStalled(res: ServerResponse, stalledMs: number): void {
  let takenBefore: number | undefined;
  const looks = setInterval(() => {
    const { bytesWritten = 0, writableLength = 0 } = res.socket ?? {};
    const taken = bytesWritten - writableLength;
    if (res.writableLength === 0) takenBefore = undefined;
    else if (taken === takenBefore) res.destroy();
    else takenBefore = taken;
  }, stalledMs);
  res.once('close', () => clearInterval(looks));
}
