import { hkdfSync } from 'node:crypto';
import { utf8 } from '@svault/shared';
import { AeadFailed, open, seal } from './aead.ts';

/**
 * Wraps small secrets of a program under its root key.
 *
 * A wrapped value is one byte of format, then the AEAD's bytes; the purpose (such as `agent-key:agt_…`) is bound
 * as associated data, so that a wrapped value copied into another row does not open there.
 */
export interface MasterKeys {
  wrap(plaintext: Uint8Array, purpose: string): Uint8Array;
  /** Tries every key: during a rotation rows are under either of two. */
  unwrap(wrapped: Uint8Array, purpose: string): Uint8Array;
  /** The same value under the newest key; for rotation. */
  rewrap(wrapped: Uint8Array, purpose: string): Uint8Array;
  /** A key of 32 bytes for one purpose, from the newest key (HKDF-SHA256, RFC 5869); the same each time. */
  derive(purpose: string): Uint8Array;
}

const FORMAT = 1;
const KEY_BYTES = 32;

/**
 * @param keys 32 bytes each, newest first: values are wrapped under the first and opened with any
 * @throws AeadFailed from `unwrap` when no key opens the value
 */
export function createMasterKeys(keys: readonly [Uint8Array, ...Uint8Array[]]): MasterKeys {
  const unwrap = (wrapped: Uint8Array, purpose: string): Uint8Array => {
    if (wrapped[0] !== FORMAT) throw new AeadFailed();
    return openWithAny(keys, wrapped.subarray(1), utf8(purpose));
  };
  const wrap = (plaintext: Uint8Array, purpose: string): Uint8Array =>
    Buffer.concat([Uint8Array.of(FORMAT), seal(keys[0], plaintext, utf8(purpose))]);
  const derive = (purpose: string): Uint8Array =>
    new Uint8Array(hkdfSync('sha256', keys[0], '', purpose, KEY_BYTES));
  return { wrap, unwrap, derive, rewrap: (wrapped, purpose) => wrap(unwrap(wrapped, purpose), purpose) };
}

function openWithAny(
  keys: readonly Uint8Array[],
  sealed: Uint8Array,
  associatedData: Uint8Array,
): Uint8Array {
  for (const key of keys) {
    try {
      return open(key, sealed, associatedData);
    } catch (error) {
      if (!(error instanceof AeadFailed)) throw error;
    }
  }
  throw new AeadFailed();
}
