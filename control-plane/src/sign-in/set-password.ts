import { type Clock, type Id, formatTime, parseTime } from '@svault/shared';
import type { DenialCounter } from '../audit/denial-counter.ts';
import { invalidArgument, ApiError } from '../core/errors.ts';
import type { Stores, Transaction } from '../core/stores.ts';
import { type Actor, eventBy } from '../core/actor.ts';
import { type Passwords, normalizePassword, problemOfPassword } from './passwords.ts';
import type { Session } from '../core/session.ts';
import { SIGN_IN_KINDS } from './sessions.ts';
import { wrongPassword } from './sign-in-by-password.ts';

/** A sign-in by one-time link replaces the current password for this long, since that one may be forgotten. */
const LINK_COUNTS_FOR_MS = 10 * 60_000;

interface NewPassword {
  readonly currentPassword: string | undefined;
  readonly newPassword: string;
}

/** What proves the user before a change: `nothing` right after a one-time link; `link` where only a new link helps. */
type Proof = 'nothing' | 'currentPassword' | 'link';

export type PasswordSetting = ReturnType<typeof createPasswordSetting>;

export function createPasswordSetting(options: {
  readonly stores: Pick<Stores, 'passwords' | 'sessions' | 'users'>;
  readonly passwords: Passwords;
  readonly denials: Pick<DenialCounter, 'count'>;
  readonly clock: Clock;
}) {
  const { stores, passwords, denials, clock } = options;

  const proofOf = (session: Session, kept: string | undefined): Proof => {
    const ageMs = clock.now() - (parseTime(session.createdAt) ?? 0);
    if (session.method === 'link' && ageMs >= 0 && ageMs < LINK_COUNTS_FOR_MS) return 'nothing';
    return kept === undefined ? 'link' : 'currentPassword';
  };

  const checkProof = async (
    actor: Actor,
    proof: Proof,
    kept: string | undefined,
    current: string | undefined,
  ): Promise<void> => {
    if (proof === 'link')
      throw new ApiError('FORBIDDEN', 'You have no password yet: sign in by a one-time link, then set one.');
    if (current === undefined && proof === 'nothing') return;
    const right = current !== undefined && (await passwords.verify(kept, current));
    // A stolen session may be used to guess the password.
    if (!right && current !== undefined) denials.count(wrongPassword(actor));
    if (!right) throw invalidArgument([{ path: 'currentPassword', message: 'is wrong' }]);
  };

  return {
    /** @throws ApiError FORBIDDEN for an admin key */
    proofNeeded: async (actor: Actor): Promise<Proof> => {
      const session = await sessionOf(stores, actor);
      return proofOf(session, await stores.passwords.find(actor.userId));
    },
    /**
     * Sets the actor's password, and ends their other sessions, unused links and approved CLI logins. Admin keys stay.
     * @param transaction one transaction over the actor's account
     * @throws ApiError FORBIDDEN without a current password or a fresh link, and for an admin key; INVALID_ARGUMENT for a
     *   current password that is wrong or missing, and for a bad new one; CONFLICT; UNAVAILABLE
     */
    set: async (actor: Actor, input: NewPassword, transaction: Transaction): Promise<void> => {
      const { currentPassword, newPassword } = input;
      const session = await sessionOf(stores, actor);
      const user = await stores.users.get(actor.vaultId, actor.userId);
      const kept = await stores.passwords.find(actor.userId);
      await checkProof(actor, proofOf(session, kept), kept, currentPassword);
      const problem = problemOfPassword(normalizePassword(newPassword), user?.email ?? '');
      if (problem !== undefined) throw invalidArgument([{ path: 'newPassword', message: problem }]);
      const passwordHash = await passwords.hash(newPassword);
      await transaction(async (inside) => {
        // Hashing takes time: the proof must still hold.
        await sessionOf(inside, actor);
        if ((await inside.passwords.find(actor.userId)) !== kept)
          throw new ApiError('CONFLICT', 'Your password was changed in between. Sign in with the new one.');
        await inside.passwords.set(actor.userId, passwordHash, formatTime(clock.now()));
        await inside.sessions.removeOfUser(actor.userId, { kinds: SIGN_IN_KINDS, but: session.id });
        await inside.loginLinks.removeOfUser(actor.userId);
        await inside.cliLogins.removeOfUser(actor.userId);
        const detail = { memberId: actor.userId, change: 'password' };
        await inside.audit.append(eventBy(actor, 'MEMBER_UPDATED', { detail }));
      });
    },
  };
}

async function sessionOf(stores: Pick<Stores, 'sessions'>, actor: Actor): Promise<Session> {
  const session =
    actor.via === 'session'
      ? await stores.sessions.get(actor.vaultId, actor.credentialId as Id<'ses'>)
      : undefined;
  if (session === undefined)
    throw new ApiError('FORBIDDEN', 'Only a signed-in person can set their password.');
  return session;
}
