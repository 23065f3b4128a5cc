import { sha256, toBase64url, utf8 } from '../bytes.ts';
import type { Recipient } from '../schemas/store.ts';

/** RFC 7638 section 3: SHA-256 over the required members in lexicographic order; base64url, 43 characters. */
export function jwkThumbprint({ crv, kty, x, y }: Pick<Recipient, 'crv' | 'kty' | 'x' | 'y'>): string {
  return toBase64url(sha256(utf8(JSON.stringify({ crv, kty, x, y }))));
}
