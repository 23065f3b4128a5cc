import type { MasterKeys } from '@svault/server-kit/master-keys';
import {
  type Clock,
  formatTime,
  fromBase64url,
  hashKey,
  parseTime,
  randomToken,
  toBase64url,
  utf8,
} from '@svault/shared';
import type { Actor } from '../accounts/actor.ts';
import type { Session } from '../accounts/session-store.ts';
import { openSession, useSession } from '../accounts/sessions.ts';
import type { User } from '../accounts/user-store.ts';
import type { Stores } from '../unit-of-work.ts';
import {
  type CliKeys,
  familyHashOf,
  isAccessToken,
  isRefreshToken,
  newCliKeys,
  nextCliKeys,
} from './cli-keys.ts';
import type { CliSession, KeptKeys } from './cli-session-store.ts';

/** Short, since an access token is shown with every request. */
const ACCESS_LIFETIME_MS = 15 * 60_000;
/** Two commands at once may both refresh: within this time the second gets what the first got. */
const REPEAT_WITHIN_MS = 10_000;
const SEED_BYTES = 32;

/** What a command-line client gets for a sign-in and for a refresh. */
export interface CliGrant extends CliKeys {
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
  const keys = newCliKeys();
  const tokenHash = familyHashOf(keys.refreshToken);
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
      if (!isAccessToken(accessToken)) return undefined;
      const found = await stores.cliSessions.find(familyHashOf(accessToken));
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
 * Gives the next pair of keys for a refresh token and takes the token out of use (RFC 9700 section 4.14.2). A token
 * that was in use before the present one ends the session, since two hold it, and nobody can tell which of them is the
 * thief. Only a token used within the last 10 s is let off, and gets the same pair once more.
 *
 * @returns undefined for whatever refreshes nothing; the ending of a session is then part of the transaction
 */
export async function refreshCliSession(
  stores: Pick<Stores, 'audit' | 'cliSessions' | 'sessions' | 'users' | 'vaults'>,
  refreshToken: string,
  { clock, masterKeys }: { readonly clock: Clock; readonly masterKeys: MasterKeys },
): Promise<CliGrant | undefined> {
  if (!isRefreshToken(refreshToken)) return undefined;
  const family = familyHashOf(refreshToken);
  const seen = await stores.cliSessions.find(family);
  if (seen === undefined) return undefined;
  await stores.vaults.hold(seen.session.vaultId);
  const found = await stores.cliSessions.find(family);
  if (found === undefined || !(await useSession(stores, found.session, clock))) return undefined;
  const { session } = found;
  const user = await stores.users.get(session.vaultId, session.userId);
  if (user === undefined) return undefined;
  const seeds = sealedSeeds(masterKeys, session);
  const kept =
    (await rotate(stores, found, refreshToken, { clock, seeds })) ??
    repeated(found, refreshToken, { clock, seeds });
  if (kept !== undefined) return grantOf(nextCliKeys(refreshToken, kept.seed), kept, user, clock);
  await endForReuse(stores, session);
  return undefined;
}

/** Seeds are kept wrapped, so that a token out of use stays worthless to who can read the database as well. */
interface SealedSeeds {
  wrap(seed: string): string;
  unwrap(wrapped: string): string;
}

function sealedSeeds(masterKeys: MasterKeys, { id }: Session): SealedSeeds {
  const purpose = `cli-rotation:${id}`;
  return {
    wrap: (seed) => toBase64url(masterKeys.wrap(utf8(seed), purpose)),
    unwrap: (wrapped) => {
      const bytes = masterKeys.unwrap(fromBase64url(wrapped) ?? new Uint8Array(), purpose);
      return Buffer.from(bytes).toString('utf8');
    },
  };
}

interface Rotating {
  readonly clock: Clock;
  readonly seeds: SealedSeeds;
}

type RotatedKeys = KeptKeys & { readonly seed: string };

async function rotate(
  stores: Pick<Stores, 'cliSessions'>,
  { session, keys }: CliSession,
  refreshToken: string,
  { clock, seeds }: Rotating,
): Promise<RotatedKeys | undefined> {
  const refreshHash = hashKey(refreshToken);
  if (keys.refreshHash !== refreshHash) return undefined;
  const seed = randomToken(SEED_BYTES);
  const next = keptKeys(nextCliKeys(refreshToken, seed), session, clock);
  const { accessHash, accessExpiresAt } = keys;
  const rotatedAt = formatTime(clock.now());
  const former = { refreshHash, accessHash, accessExpiresAt, rotatedAt, wrappedSeed: seeds.wrap(seed) };
  await stores.cliSessions.rotate(session.id, next, former);
  return { ...next, seed };
}

/** The pair that a token was already exchanged for, where that was a moment ago. */
function repeated(
  { keys, former }: CliSession,
  refreshToken: string,
  { clock, seeds }: Rotating,
): RotatedKeys | undefined {
  if (former?.refreshHash !== hashKey(refreshToken)) return undefined;
  const elapsedMs = clock.now() - (parseTime(former.rotatedAt) ?? 0);
  // A clock that was set back gives no second chance to what was long over.
  if (elapsedMs < 0 || elapsedMs > REPEAT_WITHIN_MS) return undefined;
  return { ...keys, seed: seeds.unwrap(former.wrappedSeed) };
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

function keptKeys(keys: CliKeys, session: Session, clock: Clock): KeptKeys {
  const accessEnd = formatTime(clock.now() + ACCESS_LIFETIME_MS);
  return {
    refreshHash: hashKey(keys.refreshToken),
    accessHash: hashKey(keys.accessToken),
    accessExpiresAt: accessEnd < session.expiresAt ? accessEnd : session.expiresAt,
  };
}

function grantOf(keys: CliKeys, { accessExpiresAt }: KeptKeys, user: User, clock: Clock): CliGrant {
  const leftMs = (parseTime(accessExpiresAt) ?? 0) - clock.now();
  return { ...keys, expiresInSeconds: Math.max(0, Math.floor(leftMs / 1_000)), user };
}
