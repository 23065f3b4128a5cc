import sodium from 'libsodium-wrappers';

/** Bytes that were not sealed under this key with this associated data, or were changed since. */
export class AeadFailed extends Error {
  constructor() {
    super('the sealed bytes cannot be opened with this key');
    this.name = 'AeadFailed';
  }
}

const KEY_BYTES = 32;
const NONCE_BYTES = 24;
const TAG_BYTES = 16;

/** libsodium is WebAssembly and loads once; await this before the first {@link seal} or {@link open}. */
export async function aeadReady(): Promise<void> {
  await sodium.ready;
}

/**
 * XChaCha20-Poly1305 with a random 24-byte nonce (safe to draw at random for any number of messages).
 * @param associatedData bound to the result, not stored in it: opening needs the same bytes
 * @returns nonce ‖ ciphertext ‖ tag
 */
export function seal(key: Uint8Array, plaintext: Uint8Array, associatedData: Uint8Array): Uint8Array {
  checkKey(key);
  const nonce = sodium.randombytes_buf(NONCE_BYTES);
  const sealed = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
    plaintext,
    associatedData,
    null,
    nonce,
    key,
  );
  const out = new Uint8Array(NONCE_BYTES + sealed.length);
  out.set(nonce);
  out.set(sealed, NONCE_BYTES);
  return out;
}

/** @throws AeadFailed for another key, other associated data, or changed bytes */
export function open(key: Uint8Array, sealed: Uint8Array, associatedData: Uint8Array): Uint8Array {
  checkKey(key);
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new AeadFailed();
  try {
    return sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
      null,
      sealed.subarray(NONCE_BYTES),
      associatedData,
      sealed.subarray(0, NONCE_BYTES),
      key,
    );
  } catch {
    throw new AeadFailed();
  }
}

function checkKey(key: Uint8Array): void {
  if (key.length !== KEY_BYTES) throw new RangeError(`a key has ${KEY_BYTES} bytes`);
}
