import { Writable } from 'node:stream';
import { createEgress, EgressFailed } from '@svault/shared/egress';
import type { EgressStream, AnswerHead, Egress } from '@svault/shared/egress';

const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/** What a test opens, closed in reverse order by `close`. */
export class Opened {
  readonly #opened: { close(): unknown }[] = [];

  of<T extends { close(): unknown }>(thing: T): T {
    this.#opened.push(thing);
    return thing;
  }

  egress(options: Partial<Parameters<typeof createEgress>[0]> = {}): Egress {
    return this.of(createEgress({ allow: LOOPBACK, ...options }));
  }

  async close(): Promise<void> {
    for (const thing of this.#opened.splice(0).toReversed()) await thing.close();
  }
}

/** A call with times that only a broken test reaches. */
export const callTo = (port: number, more: Partial<EgressStream> & { path?: string } = {}): EgressStream => {
  const { path = '/', ...rest } = more;
  return {
    method: 'GET',
    url: `http://127.0.0.1:${port}${path}`,
    headers: {},
    headTimeoutMs: 20_000,
    idleTimeoutMs: 20_000,
    partition: 'one',
    ...rest,
  };
};

/** An answer that was taken whole. */
export interface Taken {
  readonly head: AnswerHead;
  readonly text: string;
}

/** Makes a call and takes its answer as fast as it comes. */
export async function taken(egress: Egress, call: EgressStream): Promise<Taken> {
  const pieces: Buffer[] = [];
  let head: AnswerHead | undefined;
  await egress.stream(call, (told) => {
    head = told;
    return new Writable({
      write: (piece: Buffer, _encoding, done) => {
        pieces.push(piece);
        done();
      },
    });
  });
  if (head === undefined) throw new Error('it resolved without a head');
  return { head, text: Buffer.concat(pieces).toString() };
}

/** How a call fails: the kind, or what else is thrown. */
export async function failure(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    return error instanceof EgressFailed ? error.kind : `another error: ${String(error)}`;
  }
  return 'answered';
}

/** A taker that takes nothing until it is told to. */
export class HeldTaker extends Writable {
  /** Of what it was given. */
  bytes = 0;
  readonly #first = Promise.withResolvers<void>();
  #holding = true;
  #goOn: (() => void) | undefined;

  /** Settles with the first piece. */
  get first(): Promise<void> {
    return this.#first.promise;
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.bytes += piece.byteLength;
    this.#first.resolve();
    if (this.#holding) this.#goOn = done;
    else done();
  }

  release(): void {
    this.#holding = false;
    this.#goOn?.();
  }
}
