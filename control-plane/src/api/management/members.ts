import type { Clock } from '@svault/shared';
import { z } from 'zod';
import { ROLES } from '../../core/actor.ts';
import type { Stores } from '../../core/stores.ts';
import { EMAIL_CHARACTERS, EMAIL_FORM } from '../../core/user.ts';
import { addMember, changeRole, inviteMember, removeMember } from '../../management/members.ts';
import { noPasswordsHere } from '../../sign-in/methods.ts';
import { idParams, pageQuery, pageRequest, pageSchema, timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const memberSchema = z
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
  stores,
  withLinks,
}: {
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly stores: Pick<Stores, 'users'>;
  /** False where people sign in at an identity provider. */
  readonly withLinks: boolean;
}): readonly ManagementRoute[] {
  const shared = { tag: 'Members', role: 'admin', whenLocked: 'denied' } as const;
  const link = { baseUrl, clock };
  return [
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/members',
      operation: 'listMembers',
      summary: 'List the people of the account, oldest first',
      whenLocked: 'allowed',
      audit: [],
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: pageSchema(memberSchema) },
      handle: ({ actor, query }) => stores.users.list(actor.vaultId, pageRequest(query, 2)),
    }),
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/members',
      operation: 'addMember',
      summary: 'Add a person, with a link that signs them in once',
      audit: ['MEMBER_CREATED', 'MEMBER_UPDATED'],
      body: newMemberSchema,
      response: { status: 201, schema: invitedMemberSchema },
      errors: ['CONFLICT'],
      handle: ({ body, transaction }) =>
        transaction(async (inside) => {
          const member = await addMember(inside, body, clock);
          return withLinks ? { member, link: await inviteMember(inside, member.id, link) } : { member };
        }),
    }),
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/members/{id}/link',
      operation: 'inviteMember',
      summary: 'Make a new link that signs a member in once; 404 with an identity provider',
      audit: ['MEMBER_UPDATED'],
      params: idParams,
      response: { status: 201, schema: signInLinkSchema },
      errors: ['CONFLICT'],
      handle: ({ transaction, params }) => {
        if (!withLinks) throw noPasswordsHere();
        return transaction((inside) => inviteMember(inside, params.id, link));
      },
    }),
    defineRoute({
      ...shared,
      method: 'patch',
      path: '/api/members/{id}',
      operation: 'changeMember',
      summary: "Change a member's role; who stops being an admin loses their admin keys",
      audit: ['MEMBER_UPDATED', 'ADMIN_KEY_DELETED'],
      params: idParams,
      body: memberChangeSchema,
      response: { status: 200, schema: memberSchema },
      errors: ['CONFLICT'],
      handle: ({ body, transaction, params }) =>
        transaction((inside) => changeRole(inside, params.id, body.role)),
    }),
    defineRoute({
      ...shared,
      method: 'delete',
      path: '/api/members/{id}',
      operation: 'removeMember',
      summary: 'Remove a member, with their sessions and admin keys',
      audit: ['MEMBER_DELETED', 'ADMIN_KEY_DELETED'],
      params: idParams,
      response: { status: 204 },
      errors: ['CONFLICT'],
      handle: ({ transaction, params }) => transaction((inside) => removeMember(inside, params.id, clock)),
    }),
  ];
}
