import { createPublicKey } from 'node:crypto';
import { sha256, toBase64url, utf8 } from '@svault/shared';
import type { Recipient } from '@svault/shared/schemas';

/** RFC 7638 section 3: SHA-256 over the required members in lexicographic order; base64url. */
export function thumbprint({ crv, kty, x, y }: Recipient): string {
  return toBase64url(sha256(utf8(JSON.stringify({ crv, kty, x, y }))));
}

/** Whether x and y are a point of the curve; a key that is none could not be encrypted to. */
export function isOnCurve({ kty, crv, x, y }: Recipient): boolean {
  try {
    createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}
