import { type Clock, formatTime, hashKey } from '@svault/shared';
import { provesChallenge } from '../sign-in/pkce.ts';
import type { Stores } from '../core/stores.ts';
import type { OauthCode } from '../core/oauth-session.ts';
import { openOauthSession } from './open-session.ts';
import { endOauthSession } from './revocation.ts';
import type { IssuedTokens } from './session-tokens.ts';
import { type TokenRefusal, invalidGrant, refusedTarget } from './token-refusal.ts';
import { refusedAgent } from './refused-agent.ts';

/** What a client brings for its tokens. */
export interface CodeExchange {
  readonly code: string;
  readonly clientId: string;
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
  readonly resource: string | undefined;
}

type ExchangeStores = Pick<
  Stores,
  'agents' | 'audit' | 'oauthCodes' | 'oauthSessions' | 'sessions' | 'users' | 'vaults'
>;

/**
 * Exchanges a code for the tokens of a new session. The code is used up whatever comes of it, so that nobody gets to try a
 * second verifier; one that comes again ends the session that it opened, since two have held it (RFC 6749 section 4.1.2).
 *
 * @returns a refusal for whatever opens no session; what it ended is then part of the transaction
 */
export async function exchangeCode(
  stores: ExchangeStores,
  exchange: CodeExchange,
  clock: Clock,
): Promise<IssuedTokens | TokenRefusal> {
  const codeHash = hashKey(exchange.code);
  const seen = await stores.oauthCodes.find(codeHash);
  const vaultId = seen?.vaultId ?? (await stores.oauthSessions.findByCode(codeHash))?.session.vaultId;
  if (vaultId === undefined) return notValid();
  await stores.vaults.lockForUpdate(vaultId);
  const code = await stores.oauthCodes.take(codeHash);
  if (code === undefined) {
    const opened = await stores.oauthSessions.findByCode(codeHash);
    if (opened !== undefined) await endOauthSession(stores, opened, 'its code came again');
    return notValid();
  }
  return refusedExchange(code, exchange, clock) ?? (await openFor(stores, code, clock));
}

/** The same for all that may be wrong with a code: what of it was right is nobody's business. */
const notValid = (): TokenRefusal => invalidGrant('the code is not valid, or not any more');

function refusedExchange(code: OauthCode, exchange: CodeExchange, clock: Clock): TokenRefusal | undefined {
  const { clientId, redirectUri, codeVerifier, resource } = exchange;
  const isTheirs = code.clientId === clientId && code.redirectUri === redirectUri;
  const isInTime = code.expiresAt > formatTime(clock.now());
  if (!isTheirs || !isInTime || !provesChallenge(codeVerifier ?? '', code.codeChallenge)) return notValid();
  return refusedTarget(resource, code.audience);
}

/** What was so at the consent must still be so. */
async function openFor(
  stores: ExchangeStores,
  code: OauthCode,
  clock: Clock,
): Promise<IssuedTokens | TokenRefusal> {
  const { vaultId, userId, agentId, clientId, clientName, audience, codeHash } = code;
  const vault = await stores.vaults.get(vaultId);
  if (vault?.lockedAt !== undefined) return invalidGrant('the vault is locked');
  const approver = await stores.users.get(vaultId, userId);
  if (approver === undefined) return notValid();
  const refusal = await refusedAgent(stores, vaultId, agentId);
  if (refusal !== undefined) return refusal;
  return openOauthSession(stores, approver, { agentId, clientId, clientName, audience, codeHash }, clock);
}
