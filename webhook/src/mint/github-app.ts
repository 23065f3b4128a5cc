import { Secret, parseTime } from '@svault/shared';
import * as z from 'zod';
import type { SealedMinter } from '../vault/record.ts';
import { signingKey } from '../vault/signing-key.ts';
import { type MinterTools, type NewCredential, askProvider, mintFailed, mintedTextSchema } from './minter.ts';

const API_URL = 'https://api.github.com';
/** GitHub's advice against clocks that differ, and less than its 10 minutes. */
const BACKDATED_SECONDS = 60;
const JWT_SECONDS = 540;

const answerSchema = z.object({ token: mintedTextSchema, expires_at: z.string().optional() });

/**
 * A token of an app's installation, with no more permissions and repositories than were sealed with the key.
 *
 * @param key PEM
 * @throws ApiError MINT_FAILED, PROVIDER_TIMEOUT
 */
export async function mintGithubToken(
  tools: MinterTools,
  settings: Extract<SealedMinter, { type: 'github-app' }>,
  key: Secret,
): Promise<NewCredential> {
  const { appId, installationId, apiUrl = API_URL, permissions, repositories } = settings;
  const seconds = Math.floor(tools.clock.now() / 1000);
  const { SignJWT } = await import('jose');
  const jwt = await new SignJWT()
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(appId)
    .setIssuedAt(seconds - BACKDATED_SECONDS)
    .setExpirationTime(seconds + JWT_SECONDS)
    .sign(signingKey(key.reveal()));
  const { token, expires_at: expiresAt } = await askProvider(
    tools,
    {
      url: `${apiUrl.replace(/\/+$/, '')}/app/installations/${installationId}/access_tokens`,
      headers: {
        authorization: `Bearer ${jwt}`,
        accept: 'application/vnd.github+json',
        'content-type': 'application/json',
        'user-agent': 'svault-webhook',
        'x-github-api-version': '2022-11-28',
      },
      body: JSON.stringify({ permissions, repositories }),
    },
    {
      answer: answerSchema,
      rejectionOf: ({ message: description }) => ({ description }),
      sent: [key, new Secret(jwt)],
    },
  );
  const expiryMs = expiresAt === undefined ? undefined : parseTime(expiresAt);
  if (expiresAt !== undefined && expiryMs === undefined) throw mintFailed('unreadable answer');
  return { accessToken: new Secret(token), expiryMs };
}
