import { constantTimeEqual, sha256, toBase64url, utf8 } from '@svault/shared';

/** RFC 7636 section 4.2: base64url of a SHA-256. */
export const CODE_CHALLENGE_FORM = /^[A-Za-z0-9_-]{43}$/;
/** RFC 7636 section 4.1. */
export const CODE_VERIFIER_FORM = /^[A-Za-z0-9._~-]{43,128}$/;

/** Whether a verifier matches a challenge (RFC 7636 section 4.6, `S256`; `plain` is not supported). */
export function provesChallenge(codeVerifier: string, codeChallenge: string): boolean {
  if (!CODE_VERIFIER_FORM.test(codeVerifier)) return false;
  return constantTimeEqual(utf8(toBase64url(sha256(utf8(codeVerifier)))), utf8(codeChallenge));
}
