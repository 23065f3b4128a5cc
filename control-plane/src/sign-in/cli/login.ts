import { randomInt } from 'node:crypto';
import { type Clock, type Id, formatTime, hashKey, isId, newId, randomToken } from '@svault/shared';
import type { Actor } from '../../core/actor.ts';
import { addressGroup } from '../../core/address.ts';
import type { CliLogin } from '../../core/cli-login.ts';
import type { Stores } from '../../core/stores.ts';
import { provesChallenge } from '../pkce.ts';
import { type CliGrant, openCliSession } from './sessions.ts';

/** How long a request waits for its approval. */
const REQUEST_LIFETIME_MS = 10 * 60_000;
/** How long a code waits for its client; RFC 6749 section 4.1.2 recommends 10 minutes at most. */
const CODE_LIFETIME_MS = 5 * 60_000;
const CODE_BYTES = 32;
/** Anybody may begin a login, so waiting ones are bounded by size (`store/waiting-rows.ts`). */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** Path of the page where a user approves. */
export const CLI_APPROVAL_PATH = '/login/cli';

/** Stores the login request of a command-line client, and tells the client what to show to its user. */
export async function beginCliLogin(
  stores: Pick<Stores, 'cliLogins'>,
  request: Pick<CliLogin, 'codeChallenge' | 'redirectUri' | 'client' | 'address'>,
  { baseUrl, clock }: { readonly baseUrl: string; readonly clock: Clock },
): Promise<{
  readonly requestId: Id<'clr'>;
  readonly authorizeUrl: string;
  readonly userCode: string;
  readonly expiresInSeconds: number;
}> {
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

/** No vowels, so that no word comes out, and no letters that look alike (RFC 8628 section 6.1). */
const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const USER_CODE_HALF = 4;

/** What a user compares between terminal and browser, such as `WDJB-MJHT`: 34 bits that authorize nothing. */
function newUserCode(): string {
  const letters = Array.from(
    { length: 2 * USER_CODE_HALF },
    () => USER_CODE_LETTERS[randomInt(USER_CODE_LETTERS.length)],
  ).join('');
  return `${letters.slice(0, USER_CODE_HALF)}-${letters.slice(USER_CODE_HALF)}`;
}

/** A login that a signed-in user can still decide on. @param id as the browser sent it */
export async function pendingCliLogin(
  stores: Pick<Stores, 'cliLogins'>,
  id: string,
  clock: Clock,
): Promise<CliLogin | undefined> {
  if (!isId('clr', id)) return undefined;
  const now = formatTime(clock.now());
  const login = await stores.cliLogins.findPending(id, now);
  // From now on a flood of others does not evict it.
  if (login !== undefined) await stores.cliLogins.noteAsked(id, now);
  return login;
}

/** Lets a client sign in as the actor. @returns the code; undefined where the login was decided before or has expired */
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
 * Exchanges a code for a session. The code is consumed before any check, so that nobody can try a second verifier
 * (RFC 7636 section 7.1).
 * @param input.requestId where it is given, it must be the code's
 * @returns undefined where no session is opened; the transaction is committed all the same, since the code is consumed
 */
export async function exchangeCliCode(
  stores: Pick<Stores, 'audit' | 'cliLogins' | 'cliSessions' | 'sessions' | 'users' | 'vaults'>,
  input: { readonly code: string; readonly codeVerifier: string; readonly requestId: string | undefined },
  clock: Clock,
): Promise<CliGrant | undefined> {
  const codeHash = hashKey(input.code);
  // Every transaction locks the account before its rows, so that two never deadlock.
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
