import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, formatTime, hashKey, parseTime } from '@svault/shared';
import type { Actor } from '../../core/actor.ts';
import type { CliSession, KeptKeys, Session } from '../../core/session.ts';
import { openSession, useSession } from '../sessions.ts';
import type { User } from '../../core/user.ts';
import { type Rotation, createRotation, standingOf } from '../tokens/refresh-rotation.ts';
import type { TokenPair } from '../tokens/token-family.ts';
import type { Stores } from '../../core/stores.ts';
import { cliTokens } from './cli-tokens.ts';

/** Short, since an access token is shown with every request. */
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
  const keys = cliTokens.firstPair();
  const tokenHash = cliTokens.familyHashOf(keys.refreshToken);
  const session = await openSession(stores, user, { kind: 'cli', method: 'cli', client, tokenHash }, clock);
  const kept = keptKeys(keys, session, clock);
  await stores.cliSessions.add(session.id, kept);
  return grantOf(keys, kept, user, clock);
}

export interface CliSessions {
  /** Who an access token stands for; undefined for one that is unknown or over, or whose session is. */
  resolve(accessToken: string): Promise<Actor | undefined>;
}

export function createCliSessions(
  stores: Pick<Stores, 'cliSessions' | 'sessions'>,
  clock: Clock,
): CliSessions {
  return {
    resolve: async (accessToken) => {
      if (!cliTokens.isAccessToken(accessToken)) return undefined;
      const found = await stores.cliSessions.find(cliTokens.familyHashOf(accessToken));
      if (found === undefined || !hasAccess(found, hashKey(accessToken), clock)) return undefined;
      const { session, role } = found;
      if (!(await useSession(stores, session, clock))) return undefined;
      return {
        vaultId: session.vaultId,
        userId: session.userId,
        role,
        via: 'session',
        credentialId: session.id,
      };
    },
  };
}

/** The access token from before a refresh holds until its own end: another command may be using it. */
function hasAccess({ keys, former }: CliSession, accessHash: string, clock: Clock): boolean {
  const now = formatTime(clock.now());
  return [keys, former].some((pair) => pair?.accessHash === accessHash && (pair.accessExpiresAt ?? '') > now);
}

/**
 * Gives the next pair of keys for a refresh token and takes the token out of use. A token that was in use before the
 * present one ends the session; only one used a moment ago is let off, and gets the same pair once more.
 *
 * @returns undefined for whatever refreshes nothing; the ending of a session is then part of the transaction
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
  const { session } = found;
  const user = await stores.users.get(session.vaultId, session.userId);
  if (user === undefined) return undefined;
  const rotation = createRotation({ families: cliTokens, name: 'cli-rotation', masterKeys, clock });
  const next = await nextKeys(stores, found, refreshToken, { rotation, clock });
  if (next !== undefined) return grantOf(next.pair, next.kept, user, clock);
  await endForReuse(stores, session);
  return undefined;
}

/** @returns undefined for a token that was used up */
async function nextKeys(
  stores: Pick<Stores, 'cliSessions'>,
  { session, keys, former }: CliSession,
  refreshToken: string,
  { rotation, clock }: { readonly rotation: Rotation; readonly clock: Clock },
): Promise<{ readonly pair: TokenPair; readonly kept: KeptKeys } | undefined> {
  const standing = standingOf(refreshToken, { refreshHash: keys.refreshHash, former }, clock);
  if (standing === 'repeated' && former !== undefined)
    return { pair: rotation.again(session.id, refreshToken, former), kept: keys };
  if (standing !== 'present') return undefined;
  const { pair, former: token } = rotation.next(session.id, refreshToken);
  const next = keptKeys(pair, session, clock);
  const { accessHash, accessExpiresAt } = keys;
  await stores.cliSessions.rotate(session.id, next, { ...token, accessHash, accessExpiresAt });
  return { pair, kept: next };
}

async function endForReuse(
  stores: Pick<Stores, 'audit' | 'sessions'>,
  { id, vaultId, userId }: Session,
): Promise<void> {
  await stores.sessions.remove(vaultId, id, userId);
  await stores.audit.append({
    vaultId,
    userId,
    eventType: 'SESSION_REVOKED',
    outcome: 'success',
    detail: { sessionId: id, memberId: userId, reason: 'a used refresh token came again' },
  });
}

function keptKeys(keys: TokenPair, session: Session, clock: Clock): KeptKeys {
  const accessEnd = formatTime(clock.now() + ACCESS_LIFETIME_MS);
  return {
    refreshHash: hashKey(keys.refreshToken),
    accessHash: hashKey(keys.accessToken),
    accessExpiresAt: accessEnd < session.expiresAt ? accessEnd : session.expiresAt,
  };
}

function grantOf(keys: TokenPair, { accessExpiresAt }: KeptKeys, user: User, clock: Clock): CliGrant {
  const leftMs = (parseTime(accessExpiresAt) ?? 0) - clock.now();
  return { ...keys, expiresInSeconds: Math.max(0, Math.floor(leftMs / 1_000)), user };
}
