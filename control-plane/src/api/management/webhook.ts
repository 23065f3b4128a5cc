import { bindCodeSchema, hmacHashSchema } from '@svault/shared/schemas';
import { VERSION } from '@svault/server-kit/version';
import * as z from 'zod';
import { eventBy } from '../../core/actor.ts';
import { notFound } from '../../core/errors.ts';
import { SET_ASIDE_REASONS } from '../../core/webhook-link.ts';
import { BIND_AGAIN, asRefusal, problemOfCall } from '../../webhook/call-failed.ts';
import { problemOfWebhookUrl } from '../../webhook/registration-link.ts';
import { type WebhookStatus, probeWebhook } from '../../webhook/retrying-client.ts';
import { type LogCopy, readLogCopy } from '../../webhook/log-copy.ts';
import { boundWebhookOf } from '../../webhook/tickets.ts';
import type { Needs } from './dependencies.ts';
import { timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const ADDRESS = { description: "The webhook's address", examples: ['https://vault.example.org'] };

/** What a webhook's registration link says. */
const bindRequestSchema = z.strictObject({
  code: bindCodeSchema.meta({ description: 'The one-time code of the link; it holds five minutes' }),
  webhookUrl: z
    .string()
    .max(2048)
    .superRefine((text, context) => {
      const problem = problemOfWebhookUrl(text);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    })
    .meta(ADDRESS),
  hmacHash: hmacHashSchema.meta({ description: "SHA-256 of the webhook's secret, lower-case hex" }),
});

const webhookSchema = z.object({
  bound: z.boolean(),
  webhookId: z.string().optional(),
  url: z.string().optional().meta(ADDRESS),
  capabilities: z.array(z.string()).optional(),
  reachable: z.boolean().optional().meta({ description: 'Whether it answered a signed call just now' }),
  problem: z
    .string()
    .optional()
    .meta({ description: 'What is wrong with it just now, and what to do; absent where nothing is' }),
  lastSeenAt: timeSchema.optional(),
  latencyMs: z.int().optional().meta({ description: 'Of the call just now; absent where it did not answer' }),
  boundAt: timeSchema.optional(),
  keyId: z.string().optional(),
  rotationPending: z.boolean().optional(),
  version: z
    .string()
    .optional()
    .meta({ description: 'Of its program, as it says; absent where it did not answer just now' }),
  controlPlaneVersion: z.string().meta({ description: 'Of this control plane' }),
  log: z
    .object({
      newest: z.int().meta({ description: 'Number of the newest event of the audit log' }),
      acknowledged: z.int().meta({ description: 'Up to this event the webhook has a copy; 0: none' }),
      behindSince: timeSchema.nullable().meta({
        description: 'Since when an event waits that it has not acknowledged; null where none waits long',
      }),
    })
    .optional()
    .meta({ description: "How far the webhook's copy of the audit log reaches" }),
  setAside: z
    .object({
      reason: z.enum(SET_ASIDE_REASONS).meta({
        description:
          '`slow`: its calls took too long; `unusable_answers`: they are no answers of the protocol, or larger than one may be; `too_many_answers`: they cost more than one account may cost',
      }),
      until: timeSchema,
    })
    .optional()
    .meta({
      description: 'Background work leaves it alone until then: tokens are not refreshed on schedule',
    }),
});

const keyRotatedSchema = z.object({ keyId: z.string() });

/**
 * The shape of {@link webhookSchema}; members that are not known are left out.
 *
 * @param baseUrl of this control plane
 */
function toWebhookView(
  { link, reachable, failure, serviceUrl, version }: WebhookStatus,
  baseUrl: string,
  copy?: LogCopy,
): z.infer<typeof webhookSchema> {
  const { webhookId, url, capabilities, lastSeenAt, latencyMs, boundAt, key, pendingKey, setAside } = link;
  return {
    bound: true,
    webhookId,
    url,
    capabilities: [...capabilities],
    reachable,
    problem:
      serviceUrl === undefined || serviceUrl === baseUrl
        ? problemOfCall(failure, url)
        : boundElsewhere(serviceUrl, baseUrl),
    lastSeenAt,
    // That of an earlier call would read as if it had answered.
    latencyMs: reachable ? latencyMs : undefined,
    boundAt,
    keyId: key.id,
    rotationPending: pendingKey !== undefined,
    version,
    controlPlaneVersion: VERSION,
    log: copy && { ...copy, behindSince: copy.behindSince ?? null },
    setAside,
  };
}

/** Tickets name SV_BASE_URL as their issuer. */
const boundElsewhere = (serviceUrl: string, baseUrl: string): string =>
  `The webhook takes tickets of ${serviceUrl}, but SV_BASE_URL of this control plane is ${baseUrl}, so it rejects each of them. Set SV_BASE_URL to ${serviceUrl} and restart the control plane; or, if ${baseUrl} is right, set SV_WEBHOOK_SERVICE_URL of the webhook to it, restart the webhook after its unseal-bind, and ${BIND_AGAIN}`;

/** The webhook of the account: admins only. */
export function createWebhookRoutes({
  stores,
  webhook,
  binder,
  rotation,
  clock,
  baseUrl,
}: Needs<
  'baseUrl' | 'binder' | 'clock' | 'rotation' | 'webhook',
  'audit' | 'webhookLinks'
>): ManagementRoute[] {
  const shared = { tag: 'Webhook', role: 'admin' } as const;
  return [
    defineRoute('GET /api/webhook', {
      ...shared,
      operation: 'getWebhook',
      summary: 'Read which webhook is bound and whether it answers',
      response: { status: 200, schema: webhookSchema },
      handle: async ({ actor }) => {
        const link = await stores.webhookLinks.find(actor.vaultId);
        if (link === undefined) return { bound: false, controlPlaneVersion: VERSION };
        const status = await probeWebhook({ links: stores.webhookLinks, webhook, clock }, link);
        const copy = await readLogCopy(stores.audit, actor.vaultId, clock.now());
        return toWebhookView(status, baseUrl, copy);
      },
    }),
    defineRoute('POST /api/webhook/bind', {
      ...shared,
      operation: 'bindWebhook',
      summary: 'Bind the webhook that a registration link names',
      errors: ['CONFLICT', 'WEBHOOK_REFUSED', 'WEBHOOK_UNAVAILABLE'],
      body: bindRequestSchema,
      response: { status: 201, schema: webhookSchema },
      handle: async ({ actor, body, transaction }) =>
        toWebhookView(await binder.bind(actor, body, transaction), baseUrl),
    }),
    defineRoute('DELETE /api/webhook', {
      ...shared,
      operation: 'unbindWebhook',
      summary: 'Forget the webhook and the keys shared with it',
      errors: ['NOT_FOUND'],
      change: async ({ webhookLinks, audit }, { actor }) => {
        const link = await webhookLinks.find(actor.vaultId);
        if (link === undefined || !(await webhookLinks.delete(actor.vaultId))) throw notFound();
        const detail = { webhookId: link.webhookId, url: link.url };
        await audit.append(eventBy(actor, 'WEBHOOK_UNBOUND', { detail }));
      },
    }),
    defineRoute('POST /api/webhook/rotate-secret', {
      ...shared,
      operation: 'rotateWebhookSecret',
      summary: 'Replace the key that requests and tickets are signed with',
      errors: ['CONFLICT', 'WEBHOOK_NOT_CONFIGURED', 'WEBHOOK_REFUSED', 'WEBHOOK_UNAVAILABLE'],
      response: { status: 200, schema: keyRotatedSchema },
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
