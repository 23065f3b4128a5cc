import type { SignInClient } from './sessions.ts';
import { type Clock, formatTime, hashKey, randomToken } from '@svault/shared';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { type SignedIn, signInBrowser } from './sessions.ts';
import type { User } from '../core/user.ts';

/** Time to copy the link from a terminal. */
const OWNER_LINK_LIFETIME_MS = 30 * 60_000;
/** Time for an admin to send the link on, and for the member to read it. */
export const INVITATION_LIFETIME_MS = 24 * 60 * 60_000;

const TOKEN_BYTES = 32;

export interface MadeLink {
  readonly url: string;
  readonly expiresAt: string;
}

/** Makes a link that signs its user in once; only the token's hash is stored. */
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

/** The user whom a link would sign in now; consumes nothing. */
export async function userOfLoginLink(
  stores: Pick<Stores, 'loginLinks' | 'users'>,
  token: string,
  clock: Clock,
): Promise<User | undefined> {
  const link = await stores.loginLinks.find(hashKey(token));
  const isLive = link !== undefined && link.expiresAt > formatTime(clock.now());
  return isLive ? stores.users.get(link.vaultId, link.userId) : undefined;
}

/** Consumes a link, also an expired one, and opens a session; undefined for unknown, consumed and expired links alike. */
export async function signInByLink(
  { stores, unitOfWork }: { readonly stores: Pick<Stores, 'loginLinks'>; readonly unitOfWork: UnitOfWork },
  { token, client, origin }: SignInClient & { readonly token: string },
  clock: Clock,
): Promise<SignedIn | undefined> {
  const tokenHash = hashKey(token);
  // Anybody may try: an unknown token costs no transaction.
  const seen = await stores.loginLinks.find(tokenHash);
  if (seen === undefined) return undefined;
  return unitOfWork.run(seen.vaultId, async (inside) => {
    const link = await inside.loginLinks.take(tokenHash);
    if (link === undefined || link.expiresAt <= formatTime(clock.now())) return undefined;
    const user = await inside.users.get(link.vaultId, link.userId);
    return user && signInBrowser(inside, user, { method: 'link', client, origin }, clock);
  });
}
