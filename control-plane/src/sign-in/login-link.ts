import { type Clock, formatTime, hashKey, randomToken } from '@svault/shared';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { type SignedIn, signInBrowser } from './sessions.ts';
import type { User } from '../core/user.ts';

/** Long enough to copy it from a terminal, short enough that a forgotten one is worthless. */
const OWNER_LINK_LIFETIME_MS = 30 * 60_000;
/** Somebody has to send it on, and somebody to find it. */
export const INVITATION_LIFETIME_MS = 24 * 60 * 60_000;

const TOKEN_BYTES = 32;

export interface MadeLink {
  readonly url: string;
  readonly expiresAt: string;
}

/**
 * Makes a link that signs its user in once.
 *
 * @returns the address; only the token's hash is kept
 */
export async function makeLoginLink(
  stores: Pick<Stores, 'loginLinks'>,
  user: User,
  options: { readonly baseUrl: string; readonly clock: Clock; readonly lifetimeMs?: number },
): Promise<MadeLink> {
  const { baseUrl, clock, lifetimeMs = OWNER_LINK_LIFETIME_MS } = options;
  const token = randomToken(TOKEN_BYTES);
  const expiresAt = formatTime(clock.now() + lifetimeMs);
  const { id: userId, vaultId } = user;
  await stores.loginLinks.add({ tokenHash: hashKey(token), vaultId, userId, expiresAt });
  return { url: `${baseUrl}/login/link?token=${token}`, expiresAt };
}

/** Whom a link would sign in now; uses nothing up. */
export async function userOfLoginLink(
  stores: Pick<Stores, 'loginLinks' | 'users'>,
  token: string,
  clock: Clock,
): Promise<User | undefined> {
  const link = await stores.loginLinks.find(hashKey(token));
  const isLive = link !== undefined && link.expiresAt > formatTime(clock.now());
  return isLive ? stores.users.get(link.vaultId, link.userId) : undefined;
}

/**
 * Uses a link up and opens a session. A link that comes too late is used up as well, so that it does not live again
 * should the clock be set back (reliability R5).
 *
 * @returns undefined for unknown, used and expired links alike
 */
export async function signInByLink(
  { stores, unitOfWork }: { readonly stores: Pick<Stores, 'loginLinks'>; readonly unitOfWork: UnitOfWork },
  input: { readonly token: string; readonly client: string },
  clock: Clock,
): Promise<SignedIn | undefined> {
  const tokenHash = hashKey(input.token);
  // Anybody may try: what is no link costs no transaction.
  const seen = await stores.loginLinks.find(tokenHash);
  if (seen === undefined) return undefined;
  return unitOfWork.run(seen.vaultId, async (inside) => {
    const link = await inside.loginLinks.take(tokenHash);
    if (link === undefined || link.expiresAt <= formatTime(clock.now())) return undefined;
    const user = await inside.users.get(link.vaultId, link.userId);
    return user && signInBrowser(inside, user, { method: 'link', client: input.client }, clock);
  });
}
