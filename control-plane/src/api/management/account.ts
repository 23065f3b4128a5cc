import type { Id } from '@svault/shared';
import * as z from 'zod';
import { type Actor, ROLES } from '../../core/actor.ts';
import type { AdminKey } from '../../core/admin-key.ts';
import { notFound, orNotFound } from '../../core/errors.ts';
import { SESSION_KINDS, SIGN_IN_METHODS } from '../../core/session.ts';
import { createAdminKey, deleteAdminKey } from '../../management/admin-keys.ts';
import { noPasswordsHere } from '../../sign-in/methods.ts';
import { PASSWORD_CHARACTERS } from '../../sign-in/passwords.ts';
import { endSession } from '../../sign-in/sessions.ts';
import type { Needs } from './dependencies.ts';
import {
  SECRET_CHARACTERS,
  idParams,
  idSchema,
  lineSchema,
  pageQuery,
  pageRequest,
  pageSchema,
  timeSchema,
  viewOfPage,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

export const meSchema = z
  .object({
    id: z.string().meta({ examples: ['usr_…'] }),
    email: z.string(),
    role: z.enum(ROLES),
    isOwner: z.boolean(),
    vaultId: z.string().meta({ examples: ['vlt_…'] }),
    via: z.enum(['adminKey', 'session']).meta({ description: 'How this request is signed in' }),
    method: z
      .enum(SIGN_IN_METHODS)
      .nullable()
      .meta({ description: 'How the session was signed in; null for an admin key' }),
  })
  .meta({ id: 'Me' });

const { min, max } = PASSWORD_CHARACTERS;

const newPasswordSchema = z
  .strictObject({
    currentPassword: z.string().max(SECRET_CHARACTERS).optional().meta({
      description: 'Needed where there is one, but for ten minutes after a sign-in by one-time link',
    }),
    newPassword: z
      .string()
      .max(SECRET_CHARACTERS)
      .meta({
        description: `${min} to ${max} characters, not the e-mail address`,
        override: { type: 'string', minLength: min, maxLength: max },
      }),
  })
  .meta({ id: 'NewPassword' });

export const adminKeySchema = z
  .object({
    id: z.string().meta({ examples: ['adk_…'] }),
    name: z.string(),
    origin: z.enum(['settings', 'api']).meta({ description: 'settings: from SV_BOOTSTRAP_ADMIN_KEY' }),
    userId: z.string(),
    keyPrefix: z.string(),
    createdAt: timeSchema,
    lastUsedAt: timeSchema.nullable(),
  })
  .meta({ id: 'AdminKey' });

const newAdminKeySchema = z.strictObject({ name: lineSchema(100) }).meta({ id: 'NewAdminKey' });

const adminKeyWithKeySchema = z.object({
  adminKey: adminKeySchema,
  key: z.string().meta({ description: 'The key, in full; it is not kept and cannot be shown again' }),
});

export const sessionSchema = z
  .object({
    id: z.string().meta({ examples: ['ses_…'] }),
    kind: z.enum(SESSION_KINDS),
    userId: z.string(),
    email: z.string().meta({ description: 'Of the user' }),
    agentId: z
      .string()
      .optional()
      .meta({ examples: ['agt_…'], description: 'Whom an MCP client acts as; of kind oauth only' }),
    agentName: z.string().optional(),
    clientId: z
      .string()
      .optional()
      .meta({
        examples: ['https://app.example.com/client.json', 'ocl_…', 'prx_…'],
        description:
          'The address at which an MCP client describes itself, or the id of one that only registered; or a proxy, for which this service is the client of its upstream',
      }),
    client: z.string().meta({ description: 'What the client called itself' }),
    current: z.boolean().meta({ description: 'Whether this request is signed in by it' }),
    createdAt: timeSchema,
    lastUsedAt: timeSchema,
    expiresAt: timeSchema,
  })
  .meta({ id: 'Session' });

export const toAdminKeyView = ({ lastUsedAt, ...key }: AdminKey): z.output<typeof adminKeySchema> => ({
  ...key,
  lastUsedAt: lastUsedAt ?? null,
});

/** Members see and end their own sessions, admins all of the account. */
const sessionsOf = ({ role, userId }: Actor): Id<'usr'> | undefined =>
  role === 'admin' ? undefined : userId;

export function createAccountRoutes({
  clock,
  signInMethods,
  stores,
}: Needs<'clock' | 'signInMethods', 'adminKeys' | 'sessions' | 'users'>): ManagementRoute[] {
  const account = { tag: 'Account', role: 'member' } as const;
  const adminKeys = { tag: 'Admin keys', role: 'admin' } as const;
  return [
    defineRoute('GET /api/me', {
      ...account,
      operation: 'getMe',
      summary: 'Read who this request is signed in as',
      response: { status: 200, schema: meSchema },
      handle: async ({ actor: { userId, vaultId, via, credentialId } }) => {
        const user = orNotFound(await stores.users.get(vaultId, userId));
        if (via === 'adminKey') return { ...user, via, method: null };
        const session = await stores.sessions.get(vaultId, credentialId as Id<'ses'>);
        return { ...user, via, method: session?.method ?? null };
      },
    }),
    defineRoute('GET /api/sessions', {
      ...account,
      operation: 'listSessions',
      summary: 'List sign-ins and the sessions of MCP clients, oldest first',
      query: z.strictObject({
        ...pageQuery,
        agentId: idSchema('agt')
          .optional()
          .meta({ description: 'Only of MCP clients that act as this agent' }),
      }),
      response: { status: 200, schema: pageSchema(sessionSchema) },
      handle: ({ actor, query }) => {
        const of = { userId: sessionsOf(actor), agentId: query.agentId as Id<'agt'> | undefined };
        return viewOfPage(stores.sessions.list(actor.vaultId, of, pageRequest(query)), (session) => ({
          ...session,
          current: session.id === actor.credentialId,
        }));
      },
    }),
    defineRoute('DELETE /api/sessions/{id}', {
      ...account,
      operation: 'endSession',
      whenLocked: 'allowed',
      summary: 'End a session: sign a person out, or take an agent from an MCP client',
      params: idParams('ses'),
      change: async (inside, { actor, params }) => {
        if (!(await endSession(inside, actor, params.id, sessionsOf(actor)))) throw notFound();
      },
    }),
    defineRoute('POST /api/admin-keys', {
      ...adminKeys,
      operation: 'createAdminKey',
      summary: 'Make an admin key; it is in the answer and nowhere else',
      body: newAdminKeySchema,
      response: { status: 201, schema: adminKeyWithKeySchema },
      change: async (inside, { body }) => {
        const { adminKey, key } = await createAdminKey(inside, body.name, clock);
        return { adminKey: toAdminKeyView(adminKey), key };
      },
    }),
    defineRoute('GET /api/admin-keys', {
      ...adminKeys,
      operation: 'listAdminKeys',
      summary: 'List admin keys, oldest first',
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: pageSchema(adminKeySchema) },
      handle: ({ actor, query }) =>
        viewOfPage(stores.adminKeys.list(actor.vaultId, pageRequest(query)), toAdminKeyView),
    }),
    defineRoute('DELETE /api/admin-keys/{id}', {
      ...adminKeys,
      operation: 'deleteAdminKey',
      summary: 'Revoke an admin key',
      params: idParams('adk'),
      change: (inside, { params }) => deleteAdminKey(inside, params.id),
    }),
    defineRoute('POST /api/me/password', {
      ...account,
      operation: 'setPassword',
      summary: 'Set your own password and end your other sessions; 404 with an identity provider',
      limit: 'password_login',
      body: newPasswordSchema,
      errors: ['NOT_FOUND', 'CONFLICT'],
      handle: async ({ actor, body, transaction }) => {
        if (signInMethods.kind !== 'password') throw noPasswordsHere();
        const { currentPassword, newPassword } = body;
        await signInMethods.passwordSetting.set(actor, { currentPassword, newPassword }, transaction);
      },
    }),
  ];
}
