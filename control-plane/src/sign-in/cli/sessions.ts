import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, formatTime, hashKey, parseTime } from '@svault/shared';
import { type Actor, eventBy } from '../../core/actor.ts';
import type { KeptKeys, Session } from '../../core/session.ts';
import type { Stores } from '../../core/stores.ts';
import type { User } from '../../core/user.ts';
import { openSession, useSession } from '../sessions.ts';
import { createRotation, refreshTokenState } from '../tokens/refresh-rotation.ts';
import { type TokenPair, createTokenFamilies } from '../tokens/token-family.ts';

/** Tokens of command-line clients. */
export const cliTokens = createTokenFamilies({ name: 'cli-session', access: 'svcli', refresh: 'svclir' });

/** Short, since an access token travels with every request. */
const ACCESS_LIFETIME_MS = 15 * 60_000;

/** What a command-line client gets for a sign-in and for a refresh. */
export interface CliGrant extends TokenPair {
  readonly expiresInSeconds: number;
  readonly user: User;
}

/** Opens a command-line session, with its event. @param client what the client calls itself */
export async function openCliSession(
  stores: Pick<Stores, 'audit' | 'cliSessions' | 'sessions'>,
  user: User,
  client: string,
  clock: Clock,
): Promise<CliGrant> {
  const pair = cliTokens.issue();
  const tokenHash = cliTokens.familyHashOf(pair.refreshToken);
  const session = await openSession(stores, user, { kind: 'cli', method: 'cli', client, tokenHash }, clock);
  const stored = storedKeys(pair, session, clock);
  await stores.cliSessions.add(session.id, stored);
  return grantOf(pair, stored, user, clock);
}

/** Authenticates an access token; undefined for one that is unknown or expired, or whose session is. */
export async function resolveCliSession(
  stores: Pick<Stores, 'cliSessions' | 'sessions'>,
  accessToken: string,
  clock: Clock,
): Promise<Actor | undefined> {
  if (!cliTokens.isAccessToken(accessToken)) return undefined;
  const found = await stores.cliSessions.find(cliTokens.familyHashOf(accessToken));
  if (found === undefined) return undefined;
  const { session, role, keys, previous } = found;
  const [accessHash, now] = [hashKey(accessToken), formatTime(clock.now())];
  // The access token from before a refresh stays valid until it expires: another command may be using it.
  const isLive = [keys, previous].some(
    (pair) => pair?.accessHash === accessHash && (pair.accessExpiresAt ?? '') > now,
  );
  if (!isLive || !(await useSession(stores, session, clock))) return undefined;
  const { vaultId, userId, id: credentialId } = session;
  return { vaultId, userId, role, via: 'session', credentialId };
}

/**
 * Rotates a refresh token (RFC 9700 section 4.14.2). A token within its grace period gets the same pair again; a reused one
 * ends the session.
 * @returns undefined where nothing is refreshed; the transaction is committed all the same, since it may end the session
 */
export async function refreshCliSession(
  stores: Pick<Stores, 'audit' | 'cliSessions' | 'sessions' | 'users' | 'vaults'>,
  refreshToken: string,
  { clock, masterKeys }: { readonly clock: Clock; readonly masterKeys: MasterKeys },
): Promise<CliGrant | undefined> {
  if (!cliTokens.isRefreshToken(refreshToken)) return undefined;
  const family = cliTokens.familyHashOf(refreshToken);
  const seen = await stores.cliSessions.find(family);
  if (seen === undefined) return undefined;
  await stores.vaults.lockForUpdate(seen.session.vaultId);
  const found = await stores.cliSessions.find(family);
  if (found === undefined || !(await useSession(stores, found.session, clock))) return undefined;
  const { session, keys, previous } = found;
  const user = await stores.users.get(session.vaultId, session.userId);
  if (user === undefined) return undefined;

  const state = refreshTokenState(refreshToken, { refreshHash: keys.refreshHash, previous }, clock);
  if (state === 'reused') {
    const { id, vaultId, userId } = session;
    await stores.sessions.remove(vaultId, id, userId);
    const detail = { sessionId: id, memberId: userId, reason: 'a rotated refresh token was reused' };
    await stores.audit.append(eventBy(session, 'SESSION_REVOKED', { detail }));
    return undefined;
  }
  const rotation = createRotation({ families: cliTokens, name: 'cli-rotation', masterKeys, clock });
  if (state === 'within-grace' && previous !== undefined)
    return grantOf(rotation.replay(session.id, refreshToken, previous), keys, user, clock);
  const { pair, previous: rotated } = rotation.rotate(session.id, refreshToken);
  const next = storedKeys(pair, session, clock);
  const { accessHash, accessExpiresAt } = keys;
  await stores.cliSessions.rotate(session.id, next, { ...rotated, accessHash, accessExpiresAt });
  return grantOf(pair, next, user, clock);
}

function storedKeys(pair: TokenPair, session: Session, clock: Clock): KeptKeys {
  const accessEnd = formatTime(clock.now() + ACCESS_LIFETIME_MS);
  return {
    refreshHash: hashKey(pair.refreshToken),
    accessHash: hashKey(pair.accessToken),
    accessExpiresAt: accessEnd < session.expiresAt ? accessEnd : session.expiresAt,
  };
}

function grantOf(pair: TokenPair, { accessExpiresAt }: KeptKeys, user: User, clock: Clock): CliGrant {
  const leftMs = (parseTime(accessExpiresAt) ?? 0) - clock.now();
  return { ...pair, expiresInSeconds: Math.max(0, Math.floor(leftMs / 1_000)), user };
}
