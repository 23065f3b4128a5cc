import { attributed } from '../../core/change.ts';
import type { SignInClient } from '../sessions.ts';
import { type Clock, formatTime } from '@svault/shared';
import { type Identity, PLACEHOLDER_EMAIL, type User, normalizeEmail } from '../../core/user.ts';
import { eventBy } from '../../core/actor.ts';
import { createAccount } from '../bootstrap.ts';
import { type SignedIn, signInBrowser } from '../sessions.ts';
import { ApiError } from '../../core/errors.ts';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import type { SignedInPerson } from './provider.ts';

/**
 * Opens a session for a person whom the provider authenticated. The first sign-in binds the identity to the user with the
 * verified e-mail address; from then on only the identity counts.
 * @throws ApiError NO_ACCOUNT, SIGN_IN_FAILED, PROVIDER_UNAVAILABLE
 */
export type SignInByIdentity = (person: SignedInPerson, client: SignInClient) => Promise<SignedIn>;

export function createSignInByIdentity(options: {
  readonly unitOfWork: UnitOfWork;
  /** Whether an unknown person gets a new account. */
  readonly signUp: boolean;
  readonly clock: Clock;
}): SignInByIdentity {
  const { unitOfWork, signUp, clock } = options;
  return async (person, client) => {
    const { identity } = person;
    const open = (stores: Stores, user: User): Promise<SignedIn> =>
      signInBrowser(stores, user, { method: 'oidc', ...client }, clock);

    const openKnown = async (stores: Stores): Promise<SignedIn | undefined> => {
      const user = await lockedUser(stores, () => stores.identities.findUser(identity));
      return user && open(stores, user);
    };
    const known = await unitOfWork.runAcross(openKnown);
    if (known !== undefined) return known;

    const address = await person.verifiedEmail();
    if (address === undefined) throw noAccount(UNVERIFIED, 'no verified address');
    const email = normalizeEmail(address);
    // A provider on that host could sign in as the owner.
    if (email === PLACEHOLDER_EMAIL) throw noAccount(UNKNOWN, 'the address stands for nobody');
    return unitOfWork.runAcross(async (stores) => {
      const user = await lockedUser(stores, () => stores.users.findByEmail(email));
      // Another tab of the same person may have been first: checked once more under the account's lock.
      const bound = await openKnown(stores);
      if (bound !== undefined) return bound;
      if (user === undefined && !signUp) throw noAccount(UNKNOWN, 'nobody has this address');
      // The provider has reassigned the address: its new holder is not the user.
      if (user !== undefined && (await stores.identities.has(user.id, identity.issuer)))
        throw noAccount(UNKNOWN, 'the user with this address has another identity');
      const owner = user ?? (await createAccount(stores, email, formatTime(clock.now())));
      await bind(attributed(stores, client.origin), owner, identity, clock);
      return open(stores, owner);
    });
  };
}

/** Finds a user, once more under the account's lock. */
async function lockedUser(
  stores: Pick<Stores, 'vaults'>,
  find: () => Promise<User | undefined>,
): Promise<User | undefined> {
  const seen = await find();
  if (seen === undefined) return undefined;
  await stores.vaults.lockForUpdate(seen.vaultId);
  return find();
}

async function bind(
  stores: Pick<Stores, 'audit' | 'identities'>,
  { id: userId, vaultId }: User,
  identity: Identity,
  clock: Clock,
): Promise<void> {
  await stores.identities.bind(identity, userId, formatTime(clock.now()));
  const detail = { memberId: userId, change: 'identity' };
  await stores.audit.append(eventBy({ vaultId, userId }, 'MEMBER_UPDATED', { detail }));
}

const UNVERIFIED =
  'Your identity provider does not say that it has verified your e-mail address. Verify it there, then begin again.';
const UNKNOWN =
  'Nobody here has the e-mail address that your identity provider gives for you. Ask an admin of your account to add it.';

const noAccount = (message: string, reason: string): ApiError =>
  new ApiError('NO_ACCOUNT', message, { reason });
