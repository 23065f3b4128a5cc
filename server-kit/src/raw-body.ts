import type { IncomingMessage } from 'node:http';
import { AppError } from '@svault/shared';

/** Codes this module refuses with; both servers have them in their closed unions. */
export type BodyRefusal = 'TOO_LARGE' | 'INVALID_REQUEST';

const EMPTY = Buffer.alloc(0);
/**
 * What a piece costs beside its bytes: in pieces of one byte, a body would take a hundred times its size, in memory and
 * time. Beyond some that are anybody's, pieces must hold so many bytes on average; a network's hold five times as many.
 */
const FREE_PIECES = 8_192;
const BYTES_PER_PIECE = 256;
const isCrumbs = (pieces: number, bytes: number): boolean => pieces > FREE_PIECES + bytes / BYTES_PER_PIECE;

/** How much of a body is read. */
export interface BodyBounds {
  readonly maxBytes: number;
  /** Of larger ones no more than these bytes are read before `admit` resolves; what it rejects with ends the reading. */
  readonly large?: { readonly bytes: number; readonly admit: () => Promise<void> };
}

/**
 * Reads a request's body, byte for byte, up to a cap. Bytes come before meaning: nothing is decoded here.
 *
 * A declared length over the cap is refused before a byte is read. A body that grows past it is refused at that
 * byte and reading stops; the answer closes the connection, so the rest is never received.
 *
 * @throws AppError `TOO_LARGE` past the cap; `INVALID_REQUEST` for a content coding (a compressed body could be
 *   any size once opened), for a body that ends early and for one that comes in crumbs
 */
export function readBody(req: IncomingMessage, options: BodyBounds): Promise<Buffer> {
  const coding = req.headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    return Promise.reject(refusal('INVALID_REQUEST', 'a request body must have no content-encoding'));
  const declared = req.headers['content-length'];
  if (declared !== undefined && Number(declared) > options.maxBytes) return Promise.reject(tooLarge(options));
  if (declared === '0' || (declared === undefined && req.headers['transfer-encoding'] === undefined))
    return Promise.resolve(EMPTY);

  const { large } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let admission: Promise<void> | undefined;
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > options.maxBytes) return stop(tooLarge(options));
      chunks.push(chunk);
      if (isCrumbs(chunks.length, size)) return stop(refusal('INVALID_REQUEST', 'the body comes in crumbs'));
      if (large === undefined || admission !== undefined || size <= large.bytes) return;
      req.pause();
      admission = large.admit();
      void admission.then(() => req.resume(), stop);
    };
    const stop = (why: Error): void => {
      settle();
      req.pause();
      reject(why);
    };
    const onEnd = (): void => {
      settle();
      const whole = (): void => resolve(Buffer.concat(chunks, size));
      if (admission === undefined) whole();
      else void admission.then(whole, reject);
    };
    const onEarlyEnd = (): void => {
      settle();
      reject(refusal('INVALID_REQUEST', 'the request body ended early'));
    };
    const settle = (): void => {
      req.off('data', onData).off('end', onEnd).off('error', onEarlyEnd).off('close', onEarlyEnd);
    };
    req.on('data', onData).on('end', onEnd).on('error', onEarlyEnd).on('close', onEarlyEnd);
  });
}

const refusal = (code: BodyRefusal, message: string): AppError<BodyRefusal> => new AppError(code, message);

const tooLarge = (options: { readonly maxBytes: number }): AppError<BodyRefusal> =>
  refusal('TOO_LARGE', `the request body is larger than ${options.maxBytes} bytes`);
