import { createPublicKey } from 'node:crypto';
import type { Recipient } from '@svault/shared/schemas';

/** Whether x and y are a point of the curve; a key that is none could not be encrypted to. */
export function isOnCurve({ kty, crv, x, y }: Recipient): boolean {
  try {
    createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}
