import { z } from 'zod';
import { ROLES } from '../../../core/actor.ts';
import { EMAIL_CHARACTERS, EMAIL_FORM } from '../../../core/user.ts';
import { timeSchema } from './fields.ts';

export const memberSchema = z
  .object({
    id: z.string().meta({ examples: ['usr_…'] }),
    email: z.string(),
    role: z.enum(ROLES),
    isOwner: z.boolean(),
    createdAt: timeSchema,
  })
  .meta({ id: 'Member' });

export const newMemberSchema = z
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

export const memberChangeSchema = z
  .strictObject({ role: z.enum(ROLES).optional() })
  .meta({ id: 'MemberChange' });

export const signInLinkSchema = z
  .object({
    url: z.string().meta({ description: 'Signs its person in once; not kept, and cannot be shown again' }),
    expiresAt: timeSchema,
  })
  .meta({ id: 'SignInLink' });

export const invitedMemberSchema = z.object({
  member: memberSchema,
  link: signInLinkSchema
    .optional()
    .meta({ description: 'Absent where people sign in at an identity provider' }),
});
