import { type Clock, type Id, formatTime, newId } from '@svault/shared';
import { orNotFound, ApiError } from '../core/errors.ts';
import type { Stores } from '../core/stores.ts';
import { type Actor, type Role, eventBy } from '../core/actor.ts';
import { PLACEHOLDER_EMAIL, type User, normalizeEmail } from '../core/user.ts';
import { INVITATION_LIFETIME_MS, type MadeLink, makeLoginLink } from '../sign-in/login-link.ts';
import { SIGN_IN_KINDS, endApprovedSessions } from '../sign-in/sessions.ts';

/**
 * Adds a member to the actor's account.
 *
 * @throws ApiError CONFLICT for an address that is in use, with the same message whichever account uses it
 */
export async function addMember(
  stores: Pick<Stores, 'audit' | 'users'>,
  actor: Actor,
  { email, role }: { readonly email: string; readonly role: Role },
  clock: Clock,
): Promise<User> {
  const address = normalizeEmail(email);
  if (address === PLACEHOLDER_EMAIL || (await stores.users.findByEmail(address)) !== undefined)
    throw new ApiError('CONFLICT', 'This e-mail address cannot be added: it is in use.');
  const createdAt = formatTime(clock.now());
  const member: User = {
    id: newId('usr'),
    vaultId: actor.vaultId,
    email: address,
    role,
    isOwner: false,
    createdAt,
  };
  await stores.users.add(member);
  await stores.audit.append(eventBy(actor, 'MEMBER_CREATED', { detail: { memberId: member.id, role } }));
  return member;
}

/**
 * Makes a link that signs a member in once, and voids the previous ones. Only the operator can make one for the owner, since
 * its holder becomes the owner.
 *
 * @throws ApiError NOT_FOUND; CONFLICT for the owner
 */
export async function inviteMember(
  stores: Pick<Stores, 'audit' | 'loginLinks' | 'users'>,
  actor: Actor,
  id: string,
  options: { readonly baseUrl: string; readonly clock: Clock },
): Promise<MadeLink> {
  const member = await changeableMemberOf(stores, actor, id);
  await stores.loginLinks.removeOfUser(member.id);
  const link = await makeLoginLink(stores, member, { ...options, lifetimeMs: INVITATION_LIFETIME_MS });
  await stores.audit.append(
    eventBy(actor, 'MEMBER_UPDATED', { detail: { memberId: member.id, change: 'link' } }),
  );
  return link;
}

/**
 * Changes a member's role, from the next request of their sessions on. An admin who becomes a member loses their admin keys in
 * the same transaction.
 *
 * @throws ApiError NOT_FOUND; CONFLICT for the owner, so that an account always has an admin
 */
export async function changeRole(
  stores: Pick<Stores, 'adminKeys' | 'audit' | 'users'>,
  actor: Actor,
  id: string,
  role: Role | undefined,
): Promise<User> {
  const member = await memberOf(stores, actor, id);
  if (role === undefined || role === member.role) return member;
  rejectOwner(member);
  await stores.users.setRole(member.vaultId, member.id, role);
  if (role === 'member') await revokeAdminKeys(stores, actor, member.id);
  const detail = { memberId: member.id, role };
  await stores.audit.append(eventBy(actor, 'MEMBER_UPDATED', { detail }));
  return { ...member, role };
}

/**
 * Removes a member, with everything that authenticates them: sessions of every kind, those of MCP clients included, admin keys,
 * unused links, password and identity. What they created stays.
 *
 * @throws ApiError NOT_FOUND; CONFLICT for the owner
 */
export async function removeMember(
  stores: Pick<
    Stores,
    | 'adminKeys'
    | 'audit'
    | 'cliLogins'
    | 'identities'
    | 'loginLinks'
    | 'oauthCodes'
    | 'passwords'
    | 'sessions'
    | 'users'
  >,
  actor: Actor,
  id: string,
  clock: Clock,
): Promise<void> {
  const member = await changeableMemberOf(stores, actor, id);
  await stores.sessions.removeOfUser(member.id, { kinds: SIGN_IN_KINDS, but: undefined });
  await endApprovedSessions(stores, actor, member.id);
  await revokeAdminKeys(stores, actor, member.id);
  await stores.loginLinks.removeOfUser(member.id);
  await stores.cliLogins.removeOfUser(member.id);
  await stores.passwords.remove(member.id);
  await stores.identities.removeOfUser(member.id);
  await stores.users.markDeleted(member.vaultId, member.id, formatTime(clock.now()));
  await stores.audit.append(eventBy(actor, 'MEMBER_DELETED', { detail: { memberId: member.id } }));
}

const memberOf = async (stores: Pick<Stores, 'users'>, actor: Actor, id: string): Promise<User> =>
  orNotFound(await stores.users.get(actor.vaultId, id as Id<'usr'>));

/** @throws ApiError NOT_FOUND; CONFLICT for the owner */
async function changeableMemberOf(stores: Pick<Stores, 'users'>, actor: Actor, id: string): Promise<User> {
  const member = await memberOf(stores, actor, id);
  rejectOwner(member);
  return member;
}

function rejectOwner({ isOwner }: User): void {
  if (isOwner) throw new ApiError('CONFLICT', 'The owner of an account stays, and stays an admin.');
}

async function revokeAdminKeys(
  stores: Pick<Stores, 'adminKeys' | 'audit'>,
  actor: Actor,
  userId: Id<'usr'>,
): Promise<void> {
  for (const adminKeyId of await stores.adminKeys.idsOfUser(userId)) {
    await stores.adminKeys.remove(actor.vaultId, adminKeyId);
    await stores.audit.append(eventBy(actor, 'ADMIN_KEY_DELETED', { detail: { adminKeyId } }));
  }
}
