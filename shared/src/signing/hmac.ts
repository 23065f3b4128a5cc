import { type KeyObject, createHmac, createSecretKey } from 'node:crypto';

/** PROTOCOL.md section 3: a binding's key has exactly 32 bytes. */
export const KEY_BYTES = 32;
/** PROTOCOL.md section 5.1: the one exception, requests with `keyid="bind"` under the 36 ASCII bytes of the code. */
const BIND_KEY_ID = 'bind';
const BIND_KEY_BYTES = 36;

/** Whether a key of this length may sign requests under this id. */
export function isRequestKeyLength(keyId: string, bytes: number): boolean {
  return bytes === (keyId === BIND_KEY_ID ? BIND_KEY_BYTES : KEY_BYTES);
}

/**
 * Prepared keys, by the identity of the caller's array: preparing one costs five times the MAC of a ticket. An entry
 * lives as long as its array. A key's bytes are not to be changed in place; a new key is a new array.
 */
const prepared = new WeakMap<Uint8Array, KeyObject>();

/** HMAC-SHA256 of a text's UTF-8 bytes, 32 bytes. */
export const hmacSha256 = (key: Uint8Array, text: string): Buffer => hmac(key, text).digest();

/** The same, encoded at once. */
export const encodedHmacSha256 = (key: Uint8Array, text: string, encoding: 'base64' | 'base64url'): string =>
  hmac(key, text).digest(encoding);

const hmac = (key: Uint8Array, text: string) => createHmac('sha256', prepare(key)).update(text, 'utf8');

function prepare(key: Uint8Array): KeyObject {
  const known = prepared.get(key);
  if (known !== undefined) return known;
  const made = createSecretKey(key);
  prepared.set(key, made);
  return made;
}
