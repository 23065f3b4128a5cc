import type { SignInClient } from './sessions.ts';
import type { Clock } from '@svault/shared';
import type { DenialCounter } from '../audit/denial-counter.ts';
import type { Actor } from '../core/actor.ts';
import type { NewAuditEvent } from '../core/audit-event.ts';
import { normalizeEmail } from '../core/user.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import type { Passwords } from './passwords.ts';
import { type SignedIn, signInBrowser } from './sessions.ts';

/** Opens a session for an e-mail address and its password; undefined, in the same time, for any wrong pair. */
export type SignInByPassword = (
  input: SignInClient & { readonly email: string; readonly password: string },
) => Promise<SignedIn | undefined>;

/** @throws from the returned function, ApiError UNAVAILABLE when too many sign in at once */
export function createSignInByPassword(options: {
  readonly stores: Pick<Stores, 'passwords'>;
  readonly unitOfWork: UnitOfWork;
  readonly passwords: Passwords;
  readonly denials: Pick<DenialCounter, 'count'>;
  readonly clock: Clock;
}): SignInByPassword {
  const { stores, unitOfWork, passwords, denials, clock } = options;
  return async ({ email, password, client, origin }) => {
    const known = await stores.passwords.findByEmail(normalizeEmail(email));
    const right = await passwords.verify(known?.passwordHash, password);
    if (known !== undefined && !right) denials.count(wrongPassword({ ...known, origin }));
    if (known === undefined || !right) return undefined;
    const { userId, vaultId, passwordHash } = known;
    return unitOfWork.run(vaultId, async (inside) => {
      // Hashing takes time: meanwhile the password may have been changed, or the user removed.
      if ((await inside.passwords.find(userId)) !== passwordHash) return undefined;
      const user = await inside.users.get(vaultId, userId);
      return user && signInBrowser(inside, user, { method: 'password', client, origin }, clock);
    });
  };
}

/** The event of a wrong password. It is written later, so that a known address takes no longer than an unknown one. */
export const wrongPassword = ({
  userId,
  vaultId,
  origin,
}: Pick<Actor, 'origin' | 'userId' | 'vaultId'>): NewAuditEvent => ({
  vaultId,
  userId,
  eventType: 'LOGIN',
  outcome: 'denied',
  detail: { method: 'password', code: 'UNAUTHENTICATED' },
  origin,
});
