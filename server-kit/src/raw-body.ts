import { AppError } from '@svault/shared';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { freeChunk } from './linger.ts';
import { type UnauthenticatedBodies, unauthenticatedBodies } from './unauthenticated-bodies.ts';

/** The error codes of this module, which both servers have. */
export type BodyRefusal = 'TOO_LARGE' | 'INVALID_REQUEST' | 'UNAVAILABLE';

const EMPTY = Buffer.alloc(0);
/**
 * Bounds the overhead of chunks: a body in chunks of one byte would take a hundred times its size in memory and time.
 * Beyond the free ones, chunks must have this many bytes on average; a network's have five times as many.
 */
const FREE_CHUNKS = 8_192;
const MIN_BYTES_PER_CHUNK = 256;
/** The approximate overhead of a chunk. */
const CHUNK_OVERHEAD_BYTES = 256;
const hasTinyChunks = (chunks: number, bytes: number): boolean =>
  chunks > FREE_CHUNKS + bytes / MIN_BYTES_PER_CHUNK;

export interface BodyBounds {
  readonly maxBytes: number;
  /**
   * `known`: an authenticated sender. The bodies of all others share a memory budget (see {@link UnauthenticatedBodies})
   * until they are complete or `admit` has resolved; when it is spent, the oldest is rejected.
   */
  readonly sender?: 'known' | 'stranger';
  /** `any` accepts a body with a content coding and leaves it encoded; `none`, the default, rejects it. */
  readonly coding?: 'any' | 'none';
  /** Of a larger body only these bytes are read before `admit` resolves; its rejection ends the reading. */
  readonly large?: { readonly bytes: number; readonly admit: () => Promise<void> };
}

/**
 * Reads a request's body up to a maximum, without decoding it.
 *
 * A declared length over the maximum is rejected before a byte is read, and a longer body at its first byte too many. The
 * response closes the connection.
 * @throws AppError as {@link rejectByHead}; `TOO_LARGE` past the maximum; `INVALID_REQUEST` for a body that ends early or
 *   comes in tiny chunks; `UNAVAILABLE` where too many unauthenticated bodies are unfinished
 */
export async function readBody(req: IncomingMessage, options: BodyBounds): Promise<Buffer> {
  rejectByHead(req, options);
  const declared = req.headers['content-length'];
  if (declared === '0' || (declared === undefined && req.headers['transfer-encoding'] === undefined))
    return EMPTY;
  sendContinue(req);
  // A body that has arrived takes no part in the budget.
  const budget = options.sender === 'known' || req.complete ? undefined : unauthenticatedBodies;
  return receive(req, options, budget);
}

/**
 * Rejects a request by its head.
 * @throws AppError `TOO_LARGE` for a declared length over the maximum; `INVALID_REQUEST` for a content coding, unless
 *   `coding` is `any`: a compressed body could be any size once decoded
 */
export function rejectByHead(
  { headers }: IncomingMessage,
  options: Pick<BodyBounds, 'coding' | 'maxBytes'>,
): void {
  const coding = options.coding === 'any' ? undefined : headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw refusal('INVALID_REQUEST', 'a request body must have no content-encoding');
  const declared = headers['content-length'];
  if (declared !== undefined && Number(declared) > options.maxBytes) throw tooLarge(options);
}

function receive(
  req: IncomingMessage,
  options: BodyBounds,
  budget: UnauthenticatedBodies | undefined,
): Promise<Buffer> {
  const { large } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let admission: Promise<void> | undefined;
    let isOver = false;
    const place = budget?.enter(() => stop(tooManyUnfinished()));
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > options.maxBytes) return stop(tooLarge(options));
      chunks.push(chunk);
      place?.holds(size + chunks.length * CHUNK_OVERHEAD_BYTES);
      if (isOver) return;
      if (hasTinyChunks(chunks.length, size))
        return stop(refusal('INVALID_REQUEST', 'the body comes in too small chunks'));
      if (large === undefined || admission !== undefined || size <= large.bytes) return;
      req.pause();
      admission = large.admit();
      void admission.then(() => {
        place?.leave();
        req.resume();
      }, stop);
    };
    const stop = (why: Error): void => {
      settle();
      req.pause();
      chunks.forEach(freeChunk);
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
      isOver = true;
      place?.leave();
      req.off('data', onData).off('end', onEnd).off('error', onEarlyEnd).off('close', onEarlyEnd);
    };
    req.on('data', onData).on('end', onEnd).on('error', onEarlyEnd).on('close', onEarlyEnd);
  });
}

const refusal = (code: BodyRefusal, message: string): AppError<BodyRefusal> => new AppError(code, message);

const tooManyUnfinished = (): AppError<BodyRefusal> =>
  new AppError('UNAVAILABLE', 'too many requests are unfinished; try again', {
    details: { retryAfter: 1 },
  });

const tooLarge = (options: Pick<BodyBounds, 'maxBytes'>): AppError<BodyRefusal> =>
  refusal('TOO_LARGE', `the request body is larger than ${options.maxBytes} bytes`);

/** Requests with `Expect: 100-continue` (RFC 9110 section 10.1.1). */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** A request that is rejected by its head never gets 100-continue. */
export function recordExpectation(req: IncomingMessage, res: ServerResponse): void {
  waiting.set(req, res);
}

/** Sends 100-continue before a body is read, where the client waits for it. */
function sendContinue(req: IncomingMessage): void {
  waiting.get(req)?.writeContinue();
  waiting.delete(req);
}
