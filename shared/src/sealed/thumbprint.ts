import { sha256, toBase64url, utf8 } from '../bytes.ts';
import type { Recipient } from '../schemas/recipient.ts';

/** What makes a recipient's key, in lexicographic order: RFC 7638 section 3.2, for `OKP` RFC 8037 section 2. */
export type KeyMembers =
  | { readonly crv: 'P-256' | 'P-384'; readonly kty: 'EC'; readonly x: string; readonly y: string }
  | { readonly crv: 'X25519'; readonly kty: 'OKP'; readonly x: string };

/** A key without what may stand beside it: `kid`, `use` and `alg`. */
export function keyMembers(jwk: KeyMembers | Recipient): KeyMembers {
  return jwk.kty === 'OKP'
    ? { crv: 'X25519', kty: 'OKP', x: jwk.x }
    : { crv: jwk.crv, kty: 'EC', x: jwk.x, y: jwk.y };
}

/** RFC 7638 section 3: SHA-256 over the required members; base64url, 43 characters. */
export function jwkThumbprint(jwk: KeyMembers | Recipient): string {
  return toBase64url(sha256(utf8(JSON.stringify(keyMembers(jwk)))));
}
