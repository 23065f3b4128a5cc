import { markEventStream } from '@svault/server-kit/streamed-response';
import type { ServerResponse } from 'node:http';
import { Writable } from 'node:stream';

const NOTHING = Buffer.alloc(0);

/**
 * Hands an answer's body on to a client at the client's pace, and destroys its connection where the answer breaks off
 * (nothing else says that it is not whole) or where the client takes nothing of it for too long: who waits for it further
 * up holds an upstream.
 *
 * @param stalledMs for how long a client may take nothing while something is there for it
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
    // A client that leaves is no error of anybody's; what feeds this is ended by it.
    res.once('close', () => {
      // After a whole answer it closes as well, and what fed it was not broken off; unless a stop ended the answer.
      if (!res.writableFinished || !this.writableEnded) this.destroy();
    });
    res.on('error', () => this.destroy());
    this.on('error', () => undefined);
  }

  /** Sends the head where nothing has gone with it yet: the head of a stream does not wait for its first event. */
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
export const createStreamResponse =
  ({ stalledMs = STALLED_MS }: { readonly stalledMs?: number } = {}) =>
  (res: ServerResponse) =>
  ({ status, fields }: Head): Writable => {
    const theirs = fields.filter(
      // RFC 9110 section 8.6: a 204 has no length, and who is told one may wait for it.
      ([name]) => !OUR_NAMES.has(name) && !(status === 204 && name === 'content-length'),
    );
    res.writeHead(status, [...theirs, ...OURS].flat());
    markEventStream(res, theirs, res.req.method === 'GET' ? 'standing' : 'answering');
    const writer = new ClientWriter(res, stalledMs);
    // In one piece with the first bytes, where those came with it.
    setImmediate(() => writer.begin());
    return writer;
  };
