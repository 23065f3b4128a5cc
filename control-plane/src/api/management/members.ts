import * as z from 'zod';
import { ROLES } from '../../core/actor.ts';
import { EMAIL_CHARACTERS, EMAIL_FORM } from '../../core/user.ts';
import { addMember, changeRole, inviteMember, removeMember } from '../../management/members.ts';
import { noPasswordsHere } from '../../sign-in/methods.ts';
import type { Needs } from './dependencies.ts';
import { idParams, namedPageQuery, namedPageRequest, pageSchema, timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

export const memberSchema = z
  .object({
    id: z.string().meta({ examples: ['usr_…'] }),
    email: z.string(),
    role: z.enum(ROLES),
    isOwner: z.boolean(),
    createdAt: timeSchema,
  })
  .meta({ id: 'Member' });

const newMemberSchema = z
  .strictObject({
    email: z
      .string()
      .max(EMAIL_CHARACTERS)
      .regex(EMAIL_FORM, 'must be an e-mail address')
      .meta({
        override: ({ jsonSchema }) => {
          jsonSchema.format = 'email';
          delete jsonSchema.pattern;
        },
      }),
    role: z.enum(ROLES),
  })
  .meta({ id: 'NewMember' });

const memberChangeSchema = z.strictObject({ role: z.enum(ROLES).optional() }).meta({ id: 'MemberChange' });

const signInLinkSchema = z
  .object({
    url: z.string().meta({ description: 'Signs its person in once; not kept, and cannot be shown again' }),
    expiresAt: timeSchema,
  })
  .meta({ id: 'SignInLink' });

const invitedMemberSchema = z.object({
  member: memberSchema,
  link: signInLinkSchema
    .optional()
    .meta({ description: 'Absent where people sign in at an identity provider' }),
});

/** The people of an account; for admins. */
export function createMemberRoutes({
  baseUrl,
  clock,
  signInMethods,
  stores,
}: Needs<'baseUrl' | 'clock' | 'signInMethods', 'users'>): ManagementRoute[] {
  const shared = { tag: 'Members', role: 'admin' } as const;
  const link = { baseUrl, clock };
  const withLinks = signInMethods.kind === 'password';
  return [
    defineRoute('GET /api/members', {
      ...shared,
      operation: 'listMembers',
      summary: 'List the people of the account, oldest first',
      query: z.strictObject(namedPageQuery),
      response: { status: 200, schema: pageSchema(memberSchema) },
      handle: ({ actor, query }) => stores.users.list(actor.vaultId, namedPageRequest(query)),
    }),
    defineRoute('POST /api/members', {
      ...shared,
      operation: 'addMember',
      summary: 'Add a person, with a link that signs them in once',
      body: newMemberSchema,
      response: { status: 201, schema: invitedMemberSchema },
      errors: ['CONFLICT'],
      change: async (inside, { body }) => {
        const member = await addMember(inside, body, clock);
        return { member, link: withLinks ? await inviteMember(inside, member.id, link) : undefined };
      },
    }),
    defineRoute('POST /api/members/{id}/link', {
      ...shared,
      operation: 'inviteMember',
      summary: 'Make a new link that signs a member in once; 404 with an identity provider',
      params: idParams('usr'),
      response: { status: 201, schema: signInLinkSchema },
      errors: ['CONFLICT'],
      handle: ({ transaction, params }) => {
        if (!withLinks) throw noPasswordsHere();
        return transaction((inside) => inviteMember(inside, params.id, link));
      },
    }),
    defineRoute('PATCH /api/members/{id}', {
      ...shared,
      operation: 'changeMember',
      summary: "Change a member's role; who stops being an admin loses their admin keys",
      params: idParams('usr'),
      body: memberChangeSchema,
      response: { status: 200, schema: memberSchema },
      errors: ['CONFLICT'],
      change: (inside, { body, params }) => changeRole(inside, params.id, body.role),
    }),
    defineRoute('DELETE /api/members/{id}', {
      ...shared,
      operation: 'removeMember',
      summary: 'Remove a member, with their sessions and admin keys',
      params: idParams('usr'),
      errors: ['CONFLICT'],
      change: (inside, { params }) => removeMember(inside, params.id, clock),
    }),
  ];
}
