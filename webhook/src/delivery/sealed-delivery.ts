import { CompactEncrypt, importJWK } from 'jose';
import { utf8 } from '@svault/shared';
import type { Recipient } from '@svault/shared/schemas';

/** Compact JWE of a JSON text for one recipient (protocol section 5.4; RFC 7516, ECDH-ES with A256GCM). */
export async function sealFor(recipient: Recipient, thumbprint: string, json: string): Promise<string> {
  const { kty, crv, x, y } = recipient;
  const key = await importJWK({ kty, crv, x, y }, 'ECDH-ES');
  return new CompactEncrypt(utf8(json))
    .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', kid: thumbprint, cty: 'json' })
    .encrypt(key);
}
