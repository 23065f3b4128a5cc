import { type Clock, formatTime, hashKey } from '@svault/shared';
import type { Stores } from '../core/stores.ts';
import { provesChallenge } from '../sign-in/pkce.ts';
import { noteClientUse } from './clients.ts';
import { type IssuedTokens, endOauthSession, openOauthSession } from './oauth-session.ts';
import { type TokenError, checkAgent, checkResource, invalidGrant } from './token-error.ts';

/** The access token request of RFC 6749 section 4.1.3, with RFC 7636 section 4.5 and RFC 8707 section 2.2. */
interface CodeExchange {
  readonly code: string;
  readonly clientId: string;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  readonly resource: string | undefined;
}

/** One answer for everything that may be wrong with a code, so that a thief learns nothing about it. */
const INVALID_CODE = invalidGrant('the code is not valid, or not any more');

/**
 * Exchanges an authorization code for the tokens of a new session.
 * @returns an error where no session is opened; the transaction is committed all the same, since the code is consumed
 */
export async function exchangeCode(
  stores: Stores,
  { code: presentedCode, clientId, redirectUri, codeVerifier, resource }: CodeExchange,
  clock: Clock,
): Promise<IssuedTokens | TokenError> {
  const codeHash = hashKey(presentedCode);
  const seen = await stores.oauthCodes.find(codeHash);
  const vaultId = seen?.vaultId ?? (await stores.oauthSessions.findByCode(codeHash))?.session.vaultId;
  if (vaultId === undefined) return INVALID_CODE;
  await stores.vaults.lockForUpdate(vaultId);

  // Consumed before any check, so that nobody can try a second verifier (RFC 7636 section 7.1).
  const code = await stores.oauthCodes.take(codeHash);
  if (code === undefined) {
    // RFC 6749 section 4.1.2: two parties held the code, so the tokens that it gave are revoked.
    const opened = await stores.oauthSessions.findByCode(codeHash);
    if (opened !== undefined) await endOauthSession(stores, opened, 'its authorization code was reused');
    return INVALID_CODE;
  }
  if (code.expiresAt <= formatTime(clock.now())) return INVALID_CODE;
  // RFC 6749 section 4.1.3: the code was issued to this client, for this redirect URI.
  if (code.clientId !== clientId || code.redirectUri !== redirectUri) return INVALID_CODE;
  // RFC 7636 section 4.6.
  if (!provesChallenge(codeVerifier ?? '', code.codeChallenge)) return INVALID_CODE;
  const wrongTarget = checkResource(resource, code.audience);
  if (wrongTarget !== undefined) return wrongTarget;

  // What the consent rested on must still hold.
  const vault = await stores.vaults.get(vaultId);
  if (vault?.lockedAt !== undefined) return invalidGrant('the vault is locked');
  const approver = await stores.users.get(vaultId, code.userId);
  if (approver === undefined) return INVALID_CODE;
  const agentError = await checkAgent(stores, vaultId, code.agentId);
  if (agentError !== undefined) return agentError;

  const tokens = await openOauthSession(stores, approver, code, clock);
  await noteClientUse(stores, clientId, clock);
  return tokens;
}
