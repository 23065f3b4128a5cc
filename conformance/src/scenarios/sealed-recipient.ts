import { generateKeyPairSync } from 'node:crypto';

/** A fresh public EC P-256 key as a JWK, which nobody has the private half of. */
export function sealedRecipient(): object {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
}
