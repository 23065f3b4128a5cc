import { type AppError, type Clock, formatTime } from '@svault/shared';
import { type Identity, PLACEHOLDER_EMAIL, type User, normalizeEmail } from '../../core/user.ts';
import { createAccount } from '../new-account.ts';
import { type SignedIn, signInBrowser } from '../sessions.ts';
import { type ErrorCode, refusal } from '../../core/errors.ts';
import type { Stores, UnitOfWork } from '../../core/stores.ts';
import type { SignedInPerson } from './identity-provider.ts';

/**
 * Opens a session for somebody whom the provider vouches for.
 *
 * The identity is what counts: it is bound to a user by the first sign-in, by an address that the provider has verified, and
 * from then on the address does not matter any more.
 *
 * @throws AppError NO_ACCOUNT, SIGN_IN_FAILED, PROVIDER_UNAVAILABLE
 */
export type SignInByIdentity = (person: SignedInPerson, client: string) => Promise<SignedIn>;

export function createSignInByIdentity(options: {
  readonly unitOfWork: UnitOfWork;
  /** Whether somebody unknown gets an account of their own. */
  readonly signUp: boolean;
  readonly clock: Clock;
}): SignInByIdentity {
  const { unitOfWork, signUp, clock } = options;
  return async (person, client) => {
    const { identity } = person;
    const open = (stores: Stores, user: User): Promise<SignedIn> =>
      signInBrowser(stores, user, { method: 'oidc', client }, clock);

    const openKnown = async (stores: Stores): Promise<SignedIn | undefined> => {
      const user = await heldUser(stores, () => stores.identities.findUser(identity));
      return user && open(stores, user);
    };
    const known = await unitOfWork.runAcross(openKnown);
    if (known !== undefined) return known;

    const address = await person.verifiedEmail();
    if (address === undefined) throw noAccount(UNVERIFIED, 'no verified address');
    const email = normalizeEmail(address);
    // Whoever runs a provider on that host would be the owner.
    if (email === PLACEHOLDER_EMAIL) throw noAccount(UNKNOWN, 'the address stands for nobody');
    return unitOfWork.runAcross(async (stores) => {
      const user = await heldUser(stores, () => stores.users.findByEmail(email));
      // Another tab of the same person may have been first: looked at behind the account's lock, where this one waited.
      const bound = await openKnown(stores);
      if (bound !== undefined) return bound;
      if (user === undefined && !signUp) throw noAccount(UNKNOWN, 'nobody has this address');
      // The provider gave the address to somebody else since: the newcomer is not the user.
      if (user !== undefined && (await stores.identities.has(user.id, identity.issuer)))
        throw noAccount(UNKNOWN, 'the user with this address has another identity');
      const owner = user ?? (await createAccount(stores, email, formatTime(clock.now())));
      await bind(stores, owner, identity, clock);
      return open(stores, owner);
    });
  };
}

/** A user, read once more when nothing of the account can change any more. */
async function heldUser(
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
  { id, vaultId }: User,
  identity: Identity,
  clock: Clock,
): Promise<void> {
  await stores.identities.bind(identity, id, formatTime(clock.now()));
  await stores.audit.append({
    vaultId,
    userId: id,
    eventType: 'MEMBER_UPDATED',
    outcome: 'success',
    detail: { memberId: id, change: 'identity' },
  });
}

const UNVERIFIED =
  'Your identity provider does not say that it has verified your e-mail address. Verify it there, then begin again.';
const UNKNOWN =
  'Nobody here has the e-mail address that your identity provider gives for you. Ask an admin of your account to add it.';

const noAccount = (message: string, reason: string): AppError<ErrorCode> =>
  refusal('NO_ACCOUNT', message, { reason });
