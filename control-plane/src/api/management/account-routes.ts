import { z } from 'zod';
import type { Clock, Id } from '@svault/shared';
import type { Actor } from '../../core/actor.ts';
import { createAdminKey, deleteAdminKey } from '../../management/admin-keys.ts';
import { endSession } from '../../sign-in/sessions.ts';
import { notFound } from '../../core/errors.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import type { Stores } from '../../core/stores.ts';
import {
  adminKeySchema,
  adminKeyWithKeySchema,
  meSchema,
  newAdminKeySchema,
  sessionSchema,
  toAdminKeyView,
  toSessionView,
} from './schemas/account.ts';
import { idParams } from './schemas/fields.ts';
import { pageQuery, pageRequest, pageSchema } from './schemas/pages.ts';

/** Members see and end their own sessions, admins all of the account. */
const sessionsOf = ({ role, userId }: Actor): Id<'usr'> | undefined =>
  role === 'admin' ? undefined : userId;

export function createAccountRoutes({
  clock,
  stores,
}: {
  readonly clock: Clock;
  readonly stores: Pick<Stores, 'adminKeys' | 'sessions' | 'users'>;
}): readonly ManagementRoute[] {
  const account = { tag: 'Account', role: 'member', whenLocked: 'answers', audit: [] } as const;
  const adminKeys = { tag: 'Admin keys', role: 'admin' } as const;
  return [
    defineRoute({
      ...account,
      method: 'get',
      path: '/api/me',
      operation: 'getMe',
      summary: 'Read who this request is signed in as',
      answer: { status: 200, schema: meSchema },
      handle: async ({ actor: { userId, vaultId, via, credentialId } }) => {
        const user = await stores.users.get(vaultId, userId);
        if (user === undefined) throw notFound();
        if (via === 'adminKey') return { ...user, via, method: null };
        const session = await stores.sessions.get(vaultId, credentialId as Id<'ses'>);
        return { ...user, via, method: session?.method ?? null };
      },
    }),
    defineRoute({
      ...account,
      method: 'get',
      path: '/api/sessions',
      operation: 'listSessions',
      summary: 'List sign-ins and the sessions of MCP clients, oldest first',
      query: z.strictObject(pageQuery),
      answer: { status: 200, schema: pageSchema(sessionSchema) },
      handle: async ({ actor, query }) => {
        const page = await stores.sessions.list(actor.vaultId, sessionsOf(actor), pageRequest(query, 2));
        return { ...page, items: page.items.map((session) => toSessionView(session, actor.credentialId)) };
      },
    }),
    defineRoute({
      ...account,
      method: 'delete',
      path: '/api/sessions/{id}',
      operation: 'endSession',
      summary: 'End a session: sign a person out, or take an agent from an MCP client',
      audit: ['SESSION_REVOKED', 'OAUTH_SESSION_REVOKED'],
      params: idParams,
      answer: { status: 204 },
      handle: async ({ actor, transaction, params }) => {
        const ended = await transaction((inside) => endSession(inside, actor, params.id, sessionsOf(actor)));
        if (!ended) throw notFound();
      },
    }),
    defineRoute({
      ...adminKeys,
      method: 'post',
      path: '/api/admin-keys',
      operation: 'createAdminKey',
      summary: 'Make an admin key; it is in the answer and nowhere else',
      whenLocked: 'refused',
      audit: ['ADMIN_KEY_CREATED'],
      body: newAdminKeySchema,
      answer: { status: 201, schema: adminKeyWithKeySchema },
      handle: async ({ actor, body, transaction }) => {
        const made = await transaction((inside) => createAdminKey(inside, actor, body.name, clock));
        return { adminKey: toAdminKeyView(made.adminKey), key: made.key };
      },
    }),
    defineRoute({
      ...adminKeys,
      method: 'get',
      path: '/api/admin-keys',
      operation: 'listAdminKeys',
      summary: 'List admin keys, oldest first',
      whenLocked: 'answers',
      audit: [],
      query: z.strictObject(pageQuery),
      answer: { status: 200, schema: pageSchema(adminKeySchema) },
      handle: async ({ actor, query }) => {
        const page = await stores.adminKeys.list(actor.vaultId, pageRequest(query, 2));
        return { ...page, items: page.items.map(toAdminKeyView) };
      },
    }),
    defineRoute({
      ...adminKeys,
      method: 'delete',
      path: '/api/admin-keys/{id}',
      operation: 'deleteAdminKey',
      summary: 'Revoke an admin key',
      whenLocked: 'refused',
      audit: ['ADMIN_KEY_DELETED'],
      params: idParams,
      answer: { status: 204 },
      handle: ({ actor, transaction, params }) =>
        transaction((inside) => deleteAdminKey(inside, actor, params.id)),
    }),
  ];
}
