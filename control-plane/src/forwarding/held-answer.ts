import { Writable } from 'node:stream';
import type { TakeAnswer } from '@svault/shared/egress';

/**
 * Holds an answer until the use that it answers is on the disk. An answer that comes later, as almost every one does, passes
 * through.
 *
 * @param durable where it rejects, nothing of the answer is passed on, and the call ends
 */
export function holdUntil(durable: Promise<void>, take: TakeAnswer): TakeAnswer {
  let isDurable = false;
  const known = durable.then(() => void (isDurable = true));
  known.catch(() => undefined);
  return (head) => (isDurable ? take(head) : new HeldAnswer(known, () => take(head)));
}

/** Opens its target once it may, and passes everything on at the target's pace. It holds as much as any stream does. */
class HeldAnswer extends Writable {
  readonly #durable: Promise<void>;
  readonly #open: () => Writable;
  #target: Writable | undefined;

  constructor(durable: Promise<void>, open: () => Writable) {
    super();
    this.#durable = durable;
    this.#open = open;
    this.on('error', () => undefined);
  }

  /** Nothing is written, ended or destroyed before `done`. */
  override _construct(done: (error?: Error) => void): void {
    void this.#begin(done);
  }

  async #begin(done: (error?: Error) => void): Promise<void> {
    let failure: Error | undefined;
    try {
      await this.#durable;
      if (!this.destroyed) this.#pass(this.#open());
    } catch (error) {
      failure = error as Error;
    }
    done(failure);
  }

  #pass(target: Writable): void {
    this.#target = target;
    target.once('close', () => {
      if (!target.writableFinished) this.destroy();
    });
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.#target?.write(chunk) === false) this.#target.once('drain', done);
    else done();
  }

  override _final(done: () => void): void {
    this.#target?.once('finish', done).end();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#target?.destroy();
    done(error);
  }
}
