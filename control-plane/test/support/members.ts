import { type Answer, type Call, type ManagementService, signInBy } from './management-service.ts';

/** A member of the owner's account, signed in by the invitation's link. */
export interface TestMember {
  readonly id: string;
  readonly email: string;
  readonly link: string;
  /** Calls with the session's cookie. */
  readonly session: Call;
}

let made = 0;

export async function addMember(
  service: ManagementService,
  role: 'admin' | 'member',
  email = `person-${++made}@example.org`,
): Promise<TestMember> {
  const { status, json, text } = await service.admin('POST', '/api/members', { body: { email, role } });
  if (status !== 201) throw new Error(`no member was added: ${text}`);
  const { member, link } = json as { member: { id: string }; link: { url: string } };
  return { id: member.id, email, link: link.url, session: await signInBy(service, link.url) };
}

/** Adds a member who signs in at the identity provider. */
export async function addMemberAt(
  service: ManagementService,
  email: string,
): Promise<{ readonly id: string }> {
  const body = { email, role: 'member' };
  const { status, json, text } = await service.admin('POST', '/api/members', { body });
  if (status !== 201) throw new Error(`no member was added: ${text}`);
  return (json as { member: { id: string } }).member;
}

/** Adds a member with a password. */
export async function addMemberWithPassword(
  service: ManagementService,
  role: 'admin' | 'member',
  password: string,
): Promise<TestMember> {
  const member = await addMember(service, role);
  const set = await member.session('POST', '/api/me/password', { body: { newPassword: password } });
  if (set.status !== 204) throw new Error(`no password was set: ${set.text}`);
  return member;
}

export const signInWithPassword = (
  service: ManagementService,
  email: string,
  password: string,
): Promise<Answer> => service.anyone('POST', '/api/login', { body: { email, password } });

/** The `svault=…` cookie of a sign-in's answer. */
export const cookieOf = (answer: Answer): string => answer.headers.get('set-cookie')?.split(';')[0] ?? '';
