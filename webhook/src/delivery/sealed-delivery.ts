import { CompactEncrypt, importJWK } from 'jose';
import { utf8 } from '@svault/shared';
import type { Recipient } from '@svault/shared/schemas';
import { keyMembers } from '@svault/shared/sealed';

/** Compact JWE of a JSON text for one recipient (protocol section 5.4; RFC 7516, ECDH-ES with A256GCM). */
export async function sealFor(recipient: Recipient, thumbprint: string, json: string): Promise<string> {
  const key = await importJWK({ ...keyMembers(recipient) }, 'ECDH-ES');
  return new CompactEncrypt(utf8(json))
    .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A256GCM', kid: thumbprint, cty: 'json' })
    .encrypt(key);
}
