import { createHash, randomBytes } from 'node:crypto';

/** RFC 7636 sections 4.1 and 4.2, method S256. */
export function newProof(): { readonly codeVerifier: string; readonly codeChallenge: string } {
  const codeVerifier = randomBytes(32).toString('base64url');
  return { codeVerifier, codeChallenge: createHash('sha256').update(codeVerifier).digest('base64url') };
}
