import { type KeyObject, createPrivateKey } from 'node:crypto';

/** RFC 7518 section 3.3 asks for 2048 bits; signing with far larger keys would block this program. */
const MIN_BITS = 2048;
const MAX_BITS = 8192;

/**
 * A private key for RS256, from PEM as service accounts (PKCS #8) and apps (PKCS #1) have it.
 *
 * @throws RangeError for anything else; it does not quote the text
 */
export function signingKey(pem: string): KeyObject {
  const key = readKey(pem);
  const bits = key?.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key?.asymmetricKeyType !== 'rsa' || bits < MIN_BITS || bits > MAX_BITS)
    throw new RangeError('not a private key for RS256');
  return key;
}

/** Whether a text is such a key. */
export function isSigningKey(pem: string): boolean {
  try {
    signingKey(pem);
    return true;
  } catch {
    return false;
  }
}

function readKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey({ key: pem, format: 'pem' });
  } catch {
    return undefined;
  }
}
