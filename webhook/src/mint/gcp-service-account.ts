import { Secret } from '@svault/shared';
import * as z from 'zod';
import type { SealedMinter } from '../vault/record.ts';
import { signingKey } from '../vault/signing-key.ts';
import { type MinterTools, type NewCredential, askProvider, mintedTextSchema } from './minter.ts';

const TOKEN_URI = 'https://oauth2.googleapis.com/token';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The longest that Google takes. */
const ASSERTION_SECONDS = 3600;

const answerSchema = z.object({
  access_token: mintedTextSchema,
  expires_in: z.number().positive().max(31_536_000).optional(),
});

/**
 * An access token of a service account, against an assertion signed with its key (RFC 7523, section 2.1).
 *
 * @param key PEM
 * @throws ApiError MINT_FAILED, PROVIDER_TIMEOUT
 */
export async function mintGcpToken(
  tools: MinterTools,
  settings: Extract<SealedMinter, { type: 'gcp-service-account' }>,
  key: Secret,
): Promise<NewCredential> {
  const { clientEmail, scopes, tokenUri = TOKEN_URI } = settings;
  const now = tools.clock.now();
  const seconds = Math.floor(now / 1000);
  const { SignJWT } = await import('jose');
  const assertion = await new SignJWT({ scope: scopes.join(' ') })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(clientEmail)
    .setAudience(tokenUri)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + ASSERTION_SECONDS)
    .sign(signingKey(key.reveal()));
  const answer = await askProvider(
    tools,
    {
      url: tokenUri,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({ grant_type: GRANT_TYPE, assertion }).toString(),
    },
    {
      answer: answerSchema,
      // RFC 6749 section 5.2 and RFC 7521 section 4.1.1.
      rejectionOf: ({ error: code, error_description: description }) => ({ code, description }),
      sent: [key, new Secret(assertion)],
    },
  );
  const { access_token: token, expires_in: life } = answer;
  return {
    accessToken: new Secret(token),
    expiryMs: life === undefined ? undefined : now + Math.floor(life * 1000),
  };
}
