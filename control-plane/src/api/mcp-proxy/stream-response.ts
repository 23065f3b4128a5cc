import { markEventStream } from '@svault/server-kit/streamed-response';
import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';

const NOTHING = Buffer.alloc(0);

/**
 * Passes a response's body on at the client's pace. Destroys the connection where the response breaks off (nothing else
 * says that it is incomplete) or where the client takes nothing for too long, since it occupies an upstream meanwhile.
 *
 * @param stalledMs how long a client may take nothing while data waits for it
 */
export class ClientWriter extends Writable {
  readonly #res: ServerResponse;
  readonly #stalledMs: number;
  #hasBegun = false;
  #stalled: NodeJS.Timeout | undefined;

  constructor(res: ServerResponse, stalledMs: number) {
    super();
    this.#res = res;
    this.#stalledMs = stalledMs;
    // A client that disconnects is no error; destroying this stream ends its source.
    res.once('close', () => {
      // It also closes after a whole response, whose source has ended; unless a shutdown ended the response.
      if (!res.writableFinished || !this.writableEnded) this.destroy();
    });
    res.on('error', () => this.destroy());
    this.on('error', () => undefined);
  }

  /** Sends the head unless a chunk has taken it along: the head of a stream does not wait for its first event. */
  begin(): void {
    // Not `flushHeaders`, which writes Latin-1 values as UTF-8.
    if (!this.#hasBegun && !this.destroyed) this.#res.write(NOTHING);
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#hasBegun = true;
    if (this.#res.write(chunk)) return done();
    this.#await('drain', done);
  }

  override _final(done: () => void): void {
    this.#hasBegun = true;
    this.#await('finish', done);
    this.#res.end();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#stalled);
    if (!this.#res.writableFinished) this.#res.destroy();
    done(error);
  }

  #await(event: 'drain' | 'finish', done: () => void): void {
    this.#stalled = setTimeout(() => this.destroy(), this.#stalledMs);
    this.#res.once(event, () => {
      clearTimeout(this.#stalled);
      done();
    });
  }
}

/** PROTOCOL.md section 5.6: on every response of an upstream, in place of its own: no page, no script, no cache. */
const OURS: ReadonlyArray<readonly [name: string, value: string]> = [
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', 'sandbox'],
  ['cache-control', 'no-store'],
];
const OUR_NAMES: ReadonlySet<string> = new Set(OURS.map(([name]) => name));

/** How long a client may take nothing while data waits for it. */
const STALLED_MS = 5 * 60_000;

/** The head of a response, with its fields as sent. */
interface Head {
  readonly status: number;
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>;
}

/** Writes the head of an upstream's response to a client at once, and returns the stream that takes the body. */
export const createStreamResponse =
  ({ stalledMs = STALLED_MS }: { readonly stalledMs?: number } = {}) =>
  (res: ServerResponse) =>
  ({ status, fields }: Head): Writable => {
    const theirs = fields.filter(
      // RFC 9110 section 8.6: a 204 has no length, and a client that reads one may wait for a body.
      ([name]) => !OUR_NAMES.has(name) && !(status === 204 && name === 'content-length'),
    );
    res.writeHead(status, [...theirs, ...OURS].flat());
    markEventStream(res, theirs, res.req.method === 'GET' ? 'standing' : 'answering');
    const writer = new ClientWriter(res, stalledMs);
    // In one piece with the first bytes, where those arrived with it.
    setImmediate(() => writer.begin());
    return writer;
  };
