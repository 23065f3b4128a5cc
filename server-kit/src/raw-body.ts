import type { IncomingMessage } from 'node:http';
import { AppError } from '@svault/shared';
import { askForBody } from './expected-body.ts';
import { freePiece } from './free-piece.ts';
import { type StrangersRoom, strangersRoom } from './strangers-room.ts';

/** Codes this module refuses with; both servers have them in their closed unions. */
export type BodyRefusal = 'TOO_LARGE' | 'INVALID_REQUEST' | 'UNAVAILABLE';

const EMPTY = Buffer.alloc(0);
/**
 * What a piece costs beside its bytes: in pieces of one byte, a body would take a hundred times its size, in memory and
 * time. Beyond some that are anybody's, pieces must hold so many bytes on average; a network's hold five times as many.
 */
const FREE_PIECES = 8_192;
const BYTES_PER_PIECE = 256;
/** What a piece takes beside its bytes, about. */
const BYTES_OF_A_PIECE = 256;
const isCrumbs = (pieces: number, bytes: number): boolean => pieces > FREE_PIECES + bytes / BYTES_PER_PIECE;

/** How much of a body is read. */
export interface BodyBounds {
  readonly maxBytes: number;
  /**
   * `known`: who sends it has shown that already. The bodies of all others share one room (see {@link StrangersRoom}), until
   * they are there or `admit` has resolved; who has been longest in it when it is full is refused.
   */
  readonly sender?: 'known' | 'stranger';
  /** Of larger ones no more than these bytes are read before `admit` resolves; what it rejects with ends the reading. */
  readonly large?: { readonly bytes: number; readonly admit: () => Promise<void> };
}

/**
 * Reads a request's body, byte for byte, up to a cap. Bytes come before meaning: nothing is decoded here.
 *
 * A declared length over the cap is refused before a byte is read. A body that grows past it is refused at that
 * byte and reading stops; the answer closes the connection, so the rest is never received.
 *
 * @throws AppError as {@link refuseByHead}; `TOO_LARGE` past the cap; `INVALID_REQUEST` for a body that ends early and for
 *   one that comes in crumbs; `UNAVAILABLE` where too many strangers leave bodies unfinished
 */
export async function readBody(req: IncomingMessage, options: BodyBounds): Promise<Buffer> {
  refuseByHead(req, options);
  const declared = req.headers['content-length'];
  if (declared === '0' || (declared === undefined && req.headers['transfer-encoding'] === undefined))
    return EMPTY;
  askForBody(req);
  // One that is there already leaves nothing unfinished: of many that come at once none has to go for the others.
  const room = options.sender === 'known' || req.complete ? undefined : strangersRoom;
  return receive(req, options, room);
}

/**
 * What a request's head says that no body could mend, for those who look at more of the head before they read the body.
 *
 * @throws AppError `TOO_LARGE` for a declared length over the cap; `INVALID_REQUEST` for a content coding: a compressed
 *   body could be any size once opened
 */
export function refuseByHead({ headers }: IncomingMessage, options: Pick<BodyBounds, 'maxBytes'>): void {
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw refusal('INVALID_REQUEST', 'a request body must have no content-encoding');
  const declared = headers['content-length'];
  if (declared !== undefined && Number(declared) > options.maxBytes) throw tooLarge(options);
}

function receive(
  req: IncomingMessage,
  options: BodyBounds,
  room: StrangersRoom | undefined,
): Promise<Buffer> {
  const { large } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let admission: Promise<void> | undefined;
    let isOver = false;
    const place = room?.enter(() => stop(crowded()));
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > options.maxBytes) return stop(tooLarge(options));
      chunks.push(chunk);
      place?.holds(size + chunks.length * BYTES_OF_A_PIECE);
      if (isOver) return;
      if (isCrumbs(chunks.length, size)) return stop(refusal('INVALID_REQUEST', 'the body comes in crumbs'));
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
      chunks.forEach(freePiece);
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

const crowded = (): AppError<BodyRefusal> =>
  new AppError('UNAVAILABLE', 'too many requests are under way unfinished; try again', {
    details: { retryAfter: 1 },
  });

const tooLarge = (options: Pick<BodyBounds, 'maxBytes'>): AppError<BodyRefusal> =>
  refusal('TOO_LARGE', `the request body is larger than ${options.maxBytes} bytes`);
