import { type Clock, type Id, formatTime, hashKey, isId, newId, randomToken } from '@svault/shared';
import type { Actor } from '../../core/actor.ts';
import type { Stores } from '../../core/stores.ts';
import type { CliLogin } from '../../core/cli-login.ts';
import { type CliGrant, openCliSession } from './cli-sessions.ts';
import { provesChallenge } from '../pkce.ts';
import { addressGroup } from '../../core/address.ts';
import { newUserCode } from './user-code.ts';

/** How long a client waits for a person. */
const REQUEST_LIFETIME_MS = 10 * 60_000;
/** How long a code waits for its client; RFC 6749 section 4.1.2 asks for 10 minutes at most. */
const CODE_LIFETIME_MS = 5 * 60_000;
const CODE_BYTES = 32;
/** Anybody may begin, from addresses without end: of those that wait, so much is kept (`store/waiting-rows.ts`). */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** What the client is told, and what it shows to its person. */
export interface BegunCliLogin {
  readonly requestId: Id<'clr'>;
  /** Own page, to be opened in a browser. */
  readonly authorizeUrl: string;
  readonly userCode: string;
  readonly expiresInSeconds: number;
}

/** Own page where a person approves. */
export const CLI_APPROVAL_PATH = '/login/cli';

/** Notes that a command-line client wants to be signed in. */
export async function beginCliLogin(
  stores: Pick<Stores, 'cliLogins'>,
  request: Pick<CliLogin, 'codeChallenge' | 'redirectUri' | 'client' | 'address'>,
  { baseUrl, clock }: { readonly baseUrl: string; readonly clock: Clock },
): Promise<BegunCliLogin> {
  const requestId = newId('clr');
  const userCode = newUserCode();
  const expiresAt = formatTime(clock.now() + REQUEST_LIFETIME_MS);
  await stores.cliLogins.add(
    { id: requestId, ...request, userCode, expiresAt },
    addressGroup(request.address),
  );
  const askedSince = formatTime(clock.now() - REQUEST_LIFETIME_MS);
  await stores.cliLogins.evictWaiting({ maxBytes: MAX_WAITING_BYTES, askedSince });
  return {
    requestId,
    authorizeUrl: `${baseUrl}${CLI_APPROVAL_PATH}?request=${requestId}`,
    userCode,
    expiresInSeconds: REQUEST_LIFETIME_MS / 1_000,
  };
}

/** A sign-in that a signed-in person is asked about, and can still decide. @param id as the browser brought it */
export async function pendingCliLogin(
  stores: Pick<Stores, 'cliLogins'>,
  id: string,
  clock: Clock,
): Promise<CliLogin | undefined> {
  if (!isId('clr', id)) return undefined;
  const now = formatTime(clock.now());
  const login = await stores.cliLogins.findPending(id, now);
  // From now on a flood of others does not push it out.
  if (login !== undefined) await stores.cliLogins.noteAsked(id, now);
  return login;
}

/**
 * Lets a client sign in as the actor.
 *
 * @returns the code, of which only the hash is kept; undefined where somebody decided before, or the time is over
 */
export async function approveCliLogin(
  stores: Pick<Stores, 'cliLogins'>,
  actor: Pick<Actor, 'userId' | 'vaultId'>,
  id: Id<'clr'>,
  clock: Clock,
): Promise<string | undefined> {
  const code = randomToken(CODE_BYTES);
  const now = clock.now();
  const approved = await stores.cliLogins.approve(id, formatTime(now), {
    vaultId: actor.vaultId,
    userId: actor.userId,
    codeHash: hashKey(code),
    expiresAt: formatTime(now + CODE_LIFETIME_MS),
  });
  return approved ? code : undefined;
}

/**
 * Exchanges a code for a session. The code is used up whatever comes of it, so that nobody gets to try a second
 * verifier (RFC 7636 section 7.1 leaves that open).
 *
 * @param input.requestId where it is given, it must be the code's own
 * @returns undefined for whatever opens no session; that the code is used up is then part of the transaction
 */
export async function exchangeCliCode(
  stores: Pick<Stores, 'audit' | 'cliLogins' | 'cliSessions' | 'sessions' | 'users' | 'vaults'>,
  input: { readonly code: string; readonly codeVerifier: string; readonly requestId: string | undefined },
  clock: Clock,
): Promise<CliGrant | undefined> {
  const codeHash = hashKey(input.code);
  // The account comes before anything of it, as in every transaction: two that wait for each other would stand still.
  const seen = await stores.cliLogins.findApproved(codeHash);
  if (seen === undefined) return undefined;
  await stores.vaults.lockForUpdate(seen.vaultId);
  const login = await stores.cliLogins.take(codeHash);
  if (login === undefined || login.expiresAt <= formatTime(clock.now())) return undefined;
  if (input.requestId !== undefined && input.requestId !== login.id) return undefined;
  if (!provesChallenge(input.codeVerifier, login.codeChallenge)) return undefined;
  const user = await stores.users.get(login.vaultId, login.userId);
  return user && openCliSession(stores, user, login.client, clock);
}
