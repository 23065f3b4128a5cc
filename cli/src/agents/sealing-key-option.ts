import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { jwkThumbprint } from '@svault/shared/sealed';
import { recipientSchema } from '@svault/shared/schemas';
import { usage } from '../failure.ts';
import { readFileBounded } from '../secret-input/read-bounded.ts';

const MAX_BYTES = 4_096;

/**
 * Which public key sealed credentials are for.
 * @param text a public JWK, EC P-256, as `svault login --key` prints it; or `@FILE` of one
 * @returns its RFC 7638 thumbprint
 * @throws Failure usage, without a word of the key: it could be the private one
 */
export async function sealingKeyThumbprint(text: string): Promise<string> {
  const file = text.startsWith('@') ? text.slice(1) : undefined;
  const jwk = parsed(
    file === undefined ? text : new TextDecoder().decode(await readFileBounded(file, MAX_BYTES)),
  );
  if (jwk instanceof Object && 'd' in jwk)
    throw usage('that is a private key, which nobody else may see; its public part alone belongs here');
  const read = recipientSchema.safeParse(jwk);
  if (read.success && isOnCurve(read.data)) return jwkThumbprint(read.data);
  throw usage(
    'that is no public JWK of an EC P-256 key; svault login --key prints one for the agent that it signs in',
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isOnCurve(jwk: JsonWebKey): boolean {
  try {
    createPublicKey({ key: jwk, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}
