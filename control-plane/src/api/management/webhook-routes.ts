import type { Clock } from '@svault/shared';
import { changeBy } from '../../core/actor.ts';
import { notFound } from '../../core/errors.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import type { Stores } from '../../core/stores.ts';
import type { WebhookBinder } from '../../webhook/binding.ts';
import { type LinkedWebhook, probeWebhook } from '../../webhook/retrying-client.ts';
import type { KeyRotation } from '../../webhook/key-rotation.ts';
import { asRefusal } from '../../webhook/call-failed.ts';
import { boundWebhookOf } from '../../webhook/tickets.ts';
import { bindRequestSchema, keyRotatedSchema, toWebhookView, webhookSchema } from './schemas/webhook.ts';

export interface WebhookRouteDependencies {
  readonly stores: Pick<Stores, 'webhookLinks'>;
  readonly webhook: LinkedWebhook;
  readonly binder: WebhookBinder;
  readonly rotation: KeyRotation;
  readonly clock: Clock;
}

/** The webhook of the account: admins only. */
export function createWebhookRoutes(dependencies: WebhookRouteDependencies): readonly ManagementRoute[] {
  const { stores, webhook, binder, rotation, clock } = dependencies;
  const shared = { tag: 'Webhook', role: 'admin' } as const;
  return [
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/webhook',
      operation: 'getWebhook',
      summary: 'Read which webhook is bound and whether it answers',
      whenLocked: 'answers',
      audit: [],
      answer: { status: 200, schema: webhookSchema },
      handle: async ({ actor }) => {
        const link = await stores.webhookLinks.find(actor.vaultId);
        if (link === undefined) return { bound: false };
        return toWebhookView(await probeWebhook(link, { links: stores.webhookLinks, webhook, clock }));
      },
    }),
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/webhook/bind',
      operation: 'bindWebhook',
      summary: 'Bind the webhook that a registration link names',
      whenLocked: 'refused',
      audit: ['WEBHOOK_BOUND'],
      refusals: ['CONFLICT', 'WEBHOOK_REFUSED', 'WEBHOOK_UNAVAILABLE'],
      body: bindRequestSchema,
      answer: { status: 201, schema: webhookSchema },
      handle: async ({ actor, body, transaction }) =>
        toWebhookView(await binder.bind(actor, body, transaction)),
    }),
    defineRoute({
      ...shared,
      method: 'delete',
      path: '/api/webhook',
      operation: 'unbindWebhook',
      summary: 'Forget the webhook and the keys shared with it',
      whenLocked: 'refused',
      audit: ['WEBHOOK_UNBOUND'],
      refusals: ['NOT_FOUND'],
      answer: { status: 204 },
      handle: async ({ actor, transaction }) =>
        transaction(async ({ webhookLinks, audit }) => {
          const link = await webhookLinks.find(actor.vaultId);
          if (link === undefined || !(await webhookLinks.delete(actor.vaultId))) throw notFound();
          const detail = { webhookId: link.webhookId, url: link.url };
          await audit.append(changeBy(actor, 'WEBHOOK_UNBOUND', { detail }));
        }),
    }),
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/webhook/rotate-secret',
      operation: 'rotateWebhookSecret',
      summary: 'Replace the key that requests and tickets are signed with',
      whenLocked: 'refused',
      audit: ['WEBHOOK_SECRET_ROTATED'],
      refusals: ['CONFLICT', 'WEBHOOK_NOT_CONFIGURED', 'WEBHOOK_REFUSED', 'WEBHOOK_UNAVAILABLE'],
      answer: { status: 200, schema: keyRotatedSchema },
      handle: async ({ actor, transaction }) => {
        const link = await boundWebhookOf(stores, actor.vaultId);
        try {
          return { keyId: await rotation.rotate(link, actor.userId, transaction) };
        } catch (error) {
          throw asRefusal(error);
        }
      },
    }),
  ];
}
