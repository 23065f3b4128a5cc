import { generateKeyPairSync, type KeyObject } from 'node:crypto';

/** A pair of keys. */
export interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** The smallest that RS256 allows (RFC 7518 section 3.3). */
const BITS = 2048;
let pair: Pair | undefined;

/** An RSA pair: one for a whole run, since making one takes a while. */
export function rsaPair(): Pair {
  return (pair ??= generateKeyPairSync('rsa', { modulusLength: BITS }));
}
