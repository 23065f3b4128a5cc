import { type Clock, formatTime, hashKey, randomToken } from '@svault/shared';
import type { Stores } from '../unit-of-work.ts';
import { openSession } from './sessions.ts';
import type { User } from './user-store.ts';

/** Long enough to copy it from a terminal, short enough that a forgotten one is worthless. */
const LOGIN_LINK_LIFETIME_MS = 30 * 60_000;

const TOKEN_BYTES = 32;

/**
 * Makes a link that signs its user in once.
 *
 * @returns the address; only the token's hash is kept
 */
export async function makeLoginLink(
  stores: Pick<Stores, 'loginLinks'>,
  user: User,
  options: { readonly baseUrl: string; readonly clock: Clock },
): Promise<string> {
  const token = randomToken(TOKEN_BYTES);
  const now = options.clock.now();
  await stores.loginLinks.add({
    tokenHash: hashKey(token),
    vaultId: user.vaultId,
    userId: user.id,
    expiresAt: formatTime(now + LOGIN_LINK_LIFETIME_MS),
  });
  return `${options.baseUrl}/login/link?token=${token}`;
}

/** Whether a link would sign somebody in now; uses nothing up. */
export async function isLoginLinkLive(
  stores: Pick<Stores, 'loginLinks'>,
  token: string,
  clock: Clock,
): Promise<boolean> {
  const link = await stores.loginLinks.find(hashKey(token));
  return link !== undefined && link.expiresAt > formatTime(clock.now());
}

/**
 * Uses a link up and opens a session. A link that comes too late is used up as well, so that it does not live again
 * should the clock be set back (reliability R5).
 *
 * @returns the cookie's value, and whose session it is; undefined for unknown, used and expired links alike
 */
export async function signInByLink(
  stores: Pick<Stores, 'audit' | 'loginLinks' | 'sessions' | 'users'>,
  input: { readonly token: string; readonly client: string },
  clock: Clock,
): Promise<{ readonly sessionToken: string; readonly user: User } | undefined> {
  const link = await stores.loginLinks.take(hashKey(input.token));
  const user = link === undefined ? undefined : await stores.users.get(link.vaultId, link.userId);
  if (link === undefined || user === undefined || link.expiresAt <= formatTime(clock.now())) return undefined;
  const { sessionId, sessionToken } = await openSession(stores, user, input.client, clock);
  await stores.audit.append({
    vaultId: user.vaultId,
    userId: user.id,
    eventType: 'LOGIN',
    outcome: 'success',
    detail: { method: 'link', sessionId },
  });
  return { sessionToken, user };
}
