import { type Clock, type Id, formatTime, newId } from '@svault/shared';
import type { Role } from '../core/actor.ts';
import { ownOf, recordChange } from '../core/change.ts';
import { ApiError } from '../core/errors.ts';
import type { Change } from '../core/stores.ts';
import { PLACEHOLDER_EMAIL, type User, normalizeEmail } from '../core/user.ts';
import { INVITATION_LIFETIME_MS, type MadeLink, makeLoginLink } from '../sign-in/login-link.ts';
import { SIGN_IN_KINDS, endApprovedSessions } from '../sign-in/sessions.ts';

/**
 * Adds a member to the actor's account.
 *
 * @throws ApiError CONFLICT for an address that is in use, with the same message whichever account uses it
 */
export async function addMember(
  change: Change,
  { email, role }: { readonly email: string; readonly role: Role },
  clock: Clock,
): Promise<User> {
  const address = normalizeEmail(email);
  if (address === PLACEHOLDER_EMAIL || (await change.users.findByEmail(address)) !== undefined)
    throw new ApiError('CONFLICT', 'This e-mail address cannot be added: it is in use.');
  const member: User = {
    id: newId('usr'),
    vaultId: change.actor.vaultId,
    email: address,
    role,
    isOwner: false,
    createdAt: formatTime(clock.now()),
  };
  await change.users.add(member);
  await recordChange(change, 'MEMBER_CREATED', { detail: { memberId: member.id, role } });
  return member;
}

/**
 * Makes a link that signs a member in once, and voids the previous ones. Only the operator can make one for the owner, since
 * its holder becomes the owner.
 *
 * @throws ApiError NOT_FOUND; CONFLICT for the owner
 */
export async function inviteMember(
  change: Change,
  id: string,
  options: { readonly baseUrl: string; readonly clock: Clock },
): Promise<MadeLink> {
  const member = notOwner(await ownOf(change.users, change.actor, id));
  await change.loginLinks.removeOfUser(member.id);
  const link = await makeLoginLink(change, member, { ...options, lifetimeMs: INVITATION_LIFETIME_MS });
  await recordChange(change, 'MEMBER_UPDATED', { detail: { memberId: member.id, change: 'link' } });
  return link;
}

/**
 * Changes a member's role, from the next request of their sessions on. An admin who becomes a member loses their admin keys in
 * the same transaction.
 *
 * @throws ApiError NOT_FOUND; CONFLICT for the owner, so that an account always has an admin
 */
export async function changeRole(change: Change, id: string, role: Role | undefined): Promise<User> {
  const member = await ownOf(change.users, change.actor, id);
  if (role === undefined || role === member.role) return member;
  const { vaultId, id: memberId } = notOwner(member);
  await change.users.setRole(vaultId, memberId, role);
  if (role === 'member') await revokeAdminKeys(change, memberId);
  await recordChange(change, 'MEMBER_UPDATED', { detail: { memberId, role } });
  return { ...member, role };
}

/**
 * Removes a member, with everything that authenticates them: sessions of every kind, those of MCP clients included, admin keys,
 * unused links, password and identity. What they created stays.
 *
 * @throws ApiError NOT_FOUND; CONFLICT for the owner
 */
export async function removeMember(change: Change, id: string, clock: Clock): Promise<void> {
  const { vaultId, id: memberId } = notOwner(await ownOf(change.users, change.actor, id));
  await change.sessions.removeOfUser(memberId, { kinds: SIGN_IN_KINDS, but: undefined });
  await endApprovedSessions(change, change.actor, memberId);
  await revokeAdminKeys(change, memberId);
  await change.loginLinks.removeOfUser(memberId);
  await change.cliLogins.removeOfUser(memberId);
  await change.passwords.remove(memberId);
  await change.identities.removeOfUser(memberId);
  await change.attention.removeOfUser(memberId);
  await change.notifications.removeOfUser(vaultId, memberId);
  await change.users.markDeleted(vaultId, memberId, formatTime(clock.now()));
  await recordChange(change, 'MEMBER_DELETED', { detail: { memberId } });
}

/** @throws ApiError CONFLICT for the owner */
function notOwner(member: User): User {
  if (member.isOwner) throw new ApiError('CONFLICT', 'The owner of an account stays, and stays an admin.');
  return member;
}

async function revokeAdminKeys(change: Change, userId: Id<'usr'>): Promise<void> {
  for (const adminKeyId of await change.adminKeys.idsOfUser(userId)) {
    await change.adminKeys.remove(change.actor.vaultId, adminKeyId);
    await recordChange(change, 'ADMIN_KEY_DELETED', { detail: { adminKeyId } });
  }
}
