import { Writable } from 'node:stream';

/** Collects what a logger writes, so that a test can search it. */
export class LogSink extends Writable {
  #text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#text += chunk.toString('utf8');
    done();
  }

  get text(): string {
    return this.#text;
  }
}
