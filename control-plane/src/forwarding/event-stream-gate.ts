import { Writable } from 'node:stream';

/**
 * Buffers the beginning of an event stream until its first event is known, then passes everything on. A stream that opens
 * the HTTP+SSE transport is ended: `onEndpoint` is called if nothing was passed on yet.
 *
 * The buffer holds up to 4,096 characters and one chunk.
 */
export class EventStreamGate extends Writable {
  readonly #open: () => Writable;
  readonly #onEndpoint: () => void;
  readonly #read = createFirstEventReader();
  readonly #buffered: Buffer[] = [];
  #target: Writable | undefined;
  #deadline: NodeJS.Timeout | undefined;

  constructor(options: {
    /** Sends the head and returns the writable for the stream; called once. */
    readonly open: () => Writable;
    readonly onEndpoint: () => void;
    /** How long the head waits for the first event; 0: not at all. */
    readonly waitMs: number;
  }) {
    super();
    const { open, onEndpoint, waitMs } = options;
    this.#open = open;
    this.#onEndpoint = onEndpoint;
    this.on('error', () => undefined);
    if (waitMs === 0) this.#start();
    // Chunks that arrived while the event loop was blocked are read before the deadline takes effect.
    else this.#deadline = setTimeout(() => setImmediate(() => this.#start()), waitMs);
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const first = this.#read(chunk);
    if (first === 'endpoint') {
      if (this.#target === undefined) this.#onEndpoint();
      this.destroy();
      return done();
    }
    if (this.#target !== undefined) {
      if (this.#target.write(chunk)) done();
      else this.#target.once('drain', done);
      return;
    }
    this.#buffered.push(chunk);
    if (first === 'other') this.#start();
    done();
  }

  override _final(done: () => void): void {
    const target = this.#start();
    if (target === undefined) return done();
    target.once('finish', done);
    target.end();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#deadline);
    this.#buffered.length = 0;
    this.#target?.destroy();
    done(error);
  }

  #start(): Writable | undefined {
    if (this.#target !== undefined || this.destroyed) return this.#target;
    clearTimeout(this.#deadline);
    const target = this.#open();
    this.#target = target;
    target.once('close', () => {
      if (!target.writableFinished) this.destroy();
    });
    for (const chunk of this.#buffered.splice(0)) target.write(chunk);
    return target;
  }
}

/** The first event of a stream, as far as it is known (HTML standard, section 9.2.6). */
type FirstEvent = 'undecided' | 'endpoint' | 'other';

/** An `endpoint` event holds one address, so no server needs more. */
const MAX_CHARACTERS = 4_096;

const LINE_END = /\r\n|\n|\r/;

/**
 * Detects from the beginning of a stream whether its first event is `endpoint`, which opens the HTTP+SSE transport of MCP
 * revision 2024-11-05.
 *
 * @returns takes the next chunk and returns what is known so far
 */
function createFirstEventReader(): (chunk: Uint8Array) => FirstEvent {
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
  // A CR at the end may be half of a CR LF.
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
