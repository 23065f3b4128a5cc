import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { noteEventStream } from '@svault/server-kit/event-stream';
import { ClientWriter } from './client-writer.ts';

/** protocol.md 5.6: on every answer of an upstream, whatever it says itself; no page, no script, no cache. */
const OURS: ReadonlyArray<readonly [name: string, value: string]> = [
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', 'sandbox'],
  ['cache-control', 'no-store'],
];
const OUR_NAMES: ReadonlySet<string> = new Set(OURS.map(([name]) => name));

/** For how long a client may take nothing of what is there for it. */
const STALLED_MS = 5 * 60_000;

/** The head of an answer, its fields as they travel. */
interface Head {
  readonly status: number;
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>;
}

/** Writes the head of an upstream's answer to a client at once, and gives what takes the body. */
export const createAnswerTaker =
  ({ stalledMs = STALLED_MS }: { readonly stalledMs?: number } = {}) =>
  (res: ServerResponse) =>
  ({ status, fields }: Head): Writable => {
    const theirs = fields.filter(
      // RFC 9110 section 8.6: a 204 has no length, and who is told one may wait for it.
      ([name]) => !OUR_NAMES.has(name) && !(status === 204 && name === 'content-length'),
    );
    res.writeHead(status, [...theirs, ...OURS].flat());
    noteEventStream(res, theirs, res.req.method === 'GET' ? 'standing' : 'answering');
    const writer = new ClientWriter(res, stalledMs);
    // In one piece with the first bytes, where those came with it.
    setImmediate(() => writer.begin());
    return writer;
  };
