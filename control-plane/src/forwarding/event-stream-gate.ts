import { Writable } from 'node:stream';

/**
 * Holds the beginning of an event stream back until its first event is known, and hands everything on from then on. A
 * stream that opens the HTTP+SSE transport ends instead: while it is held, `onEndpoint` is told; afterwards it breaks off.
 *
 * Holds no more than what the reader of the first event looks at, and one piece of the stream.
 */
export class EventStreamGate extends Writable {
  readonly #open: () => Writable;
  readonly #onEndpoint: () => void;
  readonly #read = createFirstEventReader();
  readonly #held: Buffer[] = [];
  #taker: Writable | undefined;
  #deadline: NodeJS.Timeout | undefined;

  /**
   * @param options.open sends the head, and gives what takes the stream; called once
   * @param options.holdMs for how long a head waits for the first event; 0: not at all
   */
  constructor({
    open,
    onEndpoint,
    holdMs,
  }: {
    readonly open: () => Writable;
    readonly onEndpoint: () => void;
    readonly holdMs: number;
  }) {
    super();
    this.#open = open;
    this.#onEndpoint = onEndpoint;
    this.on('error', () => undefined);
    if (holdMs === 0) this.#begin();
    // What came while this process was held up is read before the time counts as over.
    else this.#deadline = setTimeout(() => setImmediate(() => this.#begin()), holdMs);
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const first = this.#read(chunk);
    if (first === 'endpoint') {
      if (this.#taker === undefined) this.#onEndpoint();
      this.destroy();
      return done();
    }
    if (this.#taker === undefined) this.#held.push(chunk);
    else return this.#handOn(chunk, done);
    if (first === 'other') this.#begin();
    done();
  }

  override _final(done: () => void): void {
    const taker = this.#begin();
    if (taker === undefined) return done();
    taker.once('finish', done);
    taker.end();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#deadline);
    this.#held.length = 0;
    this.#taker?.destroy();
    done(error);
  }

  #handOn(chunk: Buffer, done: () => void): void {
    if (this.#taker?.write(chunk) === false) this.#taker.once('drain', done);
    else done();
  }

  #begin(): Writable | undefined {
    if (this.#taker !== undefined || this.destroyed) return this.#taker;
    clearTimeout(this.#deadline);
    const taker = this.#open();
    this.#taker = taker;
    taker.once('close', () => {
      if (!taker.writableFinished) this.destroy();
    });
    for (const chunk of this.#held.splice(0)) taker.write(chunk);
    return taker;
  }
}

/** What is known of the first event of a stream (HTML standard, section 9.2.6). */
export type FirstEvent = 'undecided' | 'endpoint' | 'other';

/** No server needs more for it: an `endpoint` event holds one address. */
const MAX_CHARACTERS = 4_096;

const LINE_END = /\r\n|\n|\r/;

/**
 * Tells from the beginning of an event stream whether its first event is `endpoint`, which opens the HTTP+SSE transport of
 * MCP revision 2024-11-05.
 *
 * @returns takes the stream's bytes as they come, and says what is known by now; it keeps 4,096 characters at most
 */
export function createFirstEventReader(): (chunk: Uint8Array) => FirstEvent {
  const decoder = new TextDecoder();
  let text = '';
  let verdict: FirstEvent = 'undecided';
  return (chunk) => {
    if (verdict !== 'undecided') return verdict;
    text += decoder.decode(chunk, { stream: true });
    verdict = firstEventOf(text.slice(0, MAX_CHARACTERS));
    if (verdict === 'undecided' && text.length >= MAX_CHARACTERS) verdict = 'other';
    return verdict;
  };
}

function firstEventOf(text: string): FirstEvent {
  // The line end of an unfinished line may still become CR LF.
  const lines = text.replace(/\r$/, '').split(LINE_END).slice(0, -1);
  let hasData = false;
  for (const line of lines) {
    if (line === '' && hasData) return 'other';
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name === 'event') return value === 'endpoint' ? 'endpoint' : 'other';
    if (name === 'data') hasData = true;
  }
  return 'undecided';
}
