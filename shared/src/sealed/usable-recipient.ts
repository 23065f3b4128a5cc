import { createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto';
import { fromBase64url } from '../bytes.ts';
import type { Recipient } from '../schemas/recipient.ts';
import { keyMembers } from './thumbprint.ts';

/**
 * Whether something can be sealed to a key. Its coordinates are a point of its curve, spelt as its thumbprint has them: without bits
 * that count for nothing. With X25519 the shared secret is not zero, as it is with the points of small order (RFC 7748 section
 * 6.1), whatever the other key is.
 */
export function isUsableRecipient(recipient: Recipient): boolean {
  try {
    const publicKey = createPublicKey({ key: { ...keyMembers(recipient) }, format: 'jwk' });
    // OpenSSL refuses a secret of zeros.
    if (recipient.kty === 'OKP')
      diffieHellman({ privateKey: generateKeyPairSync('x25519').privateKey, publicKey });
    const { x, y } = { y: '', ...keyMembers(recipient) };
    return [x, y].every((text) => fromBase64url(text) !== undefined);
  } catch {
    return false;
  }
}
