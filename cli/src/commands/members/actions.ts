import * as z from 'zod';
import { apiClient } from '../../api/api-client.ts';
import { pathOf, referred } from '../../api/resource.ts';
import { MEMBER } from '../../api/resources.ts';
import type { Run } from '../../invocation.ts';
import { printDone, printSecret } from '../../output/print.ts';
import { type PrintedResource, editing, listing, removing } from '../resource-commands.ts';

const memberSchema = z.looseObject({
  id: z.string(),
  email: z.string(),
  role: z.string(),
  isOwner: z.boolean(),
  createdAt: z.string(),
});

const MEMBERS: PrintedResource<z.infer<typeof memberSchema>> = {
  resource: MEMBER,
  schema: memberSchema,
  shape: () => ({
    columns: [
      { title: 'address', of: ({ email }) => email },
      { title: 'role', of: ({ role, isOwner }) => (isOwner ? 'owner' : role), whole: true },
      { title: 'added', of: ({ createdAt }, { time }) => time(createdAt), whole: true },
      { title: 'id', of: ({ id }) => id, whole: true },
    ],
    name: ({ email }) => email,
  }),
};

const linkSchema = z.looseObject({ url: z.string(), expiresAt: z.string() });
const addedSchema = z.looseObject({ member: memberSchema, link: linkSchema.optional() });

type Role = 'member' | 'admin';

/** `members list` */
export const listMembers = listing(MEMBERS);
/** `members edit MEMBER` */
export const editMember = editing(MEMBERS, async ({ role }: { readonly role?: Role }) => ({ role }));
/** `members rm MEMBER` */
export const removeMember = removing(MEMBER, {
  question: ({ name }) => `Remove ${name}, with their sessions and admin keys?`,
  said: ({ name }) => `${name} is removed, with their sessions and admin keys`,
});

/** `members add EMAIL` */
export const addMember: Run<[email: string], { readonly role?: Role }> = async (
  invocation,
  [email],
  { role = 'member' },
) => {
  const client = await apiClient(invocation);
  const body = { email, role };
  const answer = await client.change({ method: 'POST', path: MEMBER.path, body, schema: addedSchema });
  const said = `${email} is added as ${role}`;
  const { link } = answer;
  if (link === undefined)
    return printDone(invocation, {
      said: `${said}, and signs in at the identity provider`,
      answer,
      name: email,
    });
  printSecret(invocation, {
    said,
    answer,
    name: email,
    secret: { called: 'link', note: `which signs them in once until ${link.expiresAt}`, text: link.url },
  });
};

/** `members invite MEMBER` */
export const inviteMember: Run<[string]> = async (invocation, [reference]) => {
  const client = await apiClient(invocation);
  const { id, name } = await referred(client, MEMBER, reference);
  const path = `${pathOf(MEMBER, id)}/link`;
  const answer = await client.change({ method: 'POST', path, schema: linkSchema });
  printSecret(invocation, {
    said: `${name} has a new link`,
    answer,
    name: reference,
    secret: { called: 'link', note: `which signs them in once until ${answer.expiresAt}`, text: answer.url },
  });
};
