import { hash, randomFillSync, timingSafeEqual } from 'node:crypto';

/** Bytes of random drawn from the system at a time; a call per token would cost more than the rest of a ticket. */
const POOL_BYTES = 4096;

const pool = Buffer.alloc(POOL_BYTES);
let poolUsed = POOL_BYTES;

/** UTF-8 bytes of a text. */
export function utf8(text: string): Uint8Array {
  return Buffer.from(text, 'utf8');
}

/** base64url without padding (RFC 4648 section 5). */
export function toBase64url(bytes: Uint8Array): string {
  return view(bytes).toString('base64url');
}

/** Reads base64url that {@link toBase64url} would write: no padding, no second spelling; undefined for anything else. */
export function fromBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

/** base64 with padding, standard alphabet (RFC 4648 section 4). */
export function toBase64(bytes: Uint8Array): string {
  return view(bytes).toString('base64');
}

/** Reads base64 that {@link toBase64} would write: with padding, no second spelling; undefined for anything else. */
export function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  return view(bytes).toString('hex');
}

/** SHA-256, 32 bytes. */
export function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer');
}

/** Equality in a time that depends on the lengths alone. */
export function constantTimeEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}

/**
 * A random token in base64url, drawn from a pool of system randomness; drawn bytes are erased from the pool.
 * @param bytes random bytes in it, 1 to 4096; 16 (the default) give 22 characters, 32 give 43
 */
export function randomToken(bytes = 16): string {
  if (bytes < 1 || bytes > POOL_BYTES) throw new RangeError(`a token has 1 to ${POOL_BYTES} bytes`);
  return encodeAndErase(drawn(bytes), bytes);
}

const TIME_BYTES = 6;
const ORDERED_BYTES = 16;

/**
 * A token of 22 base64url characters whose first eight tell the time and whose other 80 bits are random. Tokens of one
 * moment lie side by side in an index, so that writing many of them touches few pages of it.
 * @param nowMs milliseconds since 1970
 */
export function timeOrderedToken(nowMs: number): string {
  const at = drawn(ORDERED_BYTES);
  pool.writeUIntBE(nowMs, at, TIME_BYTES);
  return encodeAndErase(at, ORDERED_BYTES);
}

/** The time in a token of `timeOrderedToken`, in milliseconds since 1970. */
export const timeOfToken = (token: string): number =>
  Buffer.from(token.slice(0, (TIME_BYTES * 4) / 3), 'base64url').readUIntBE(0, TIME_BYTES);

/** @returns where in the pool unused random bytes begin */
function drawn(bytes: number): number {
  if (poolUsed + bytes > POOL_BYTES) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  const at = poolUsed;
  poolUsed += bytes;
  return at;
}

function encodeAndErase(at: number, bytes: number): string {
  const token = pool.toString('base64url', at, at + bytes);
  pool.fill(0, at, at + bytes);
  return token;
}

/** A Buffer over the same memory. */
function view(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
