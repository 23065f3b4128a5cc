import { z } from 'zod';
import { bindCodeSchema, hmacHashSchema, thumbprintSchema } from '@svault/shared/schemas';
import { problemOfWebhookUrl } from '../../../webhook/registration-link.ts';
import { SET_ASIDE_REASONS } from '../../../core/webhook-link.ts';
import type { WebhookView } from '../../../webhook/retrying-client.ts';
import { timeSchema } from './fields.ts';

const ADDRESS = { description: "The webhook's address", examples: ['https://vault.example.org'] };

/** What a webhook's registration link says. */
export const bindRequestSchema = z.strictObject({
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

export const webhookSchema = z.object({
  bound: z.boolean(),
  webhookId: z.string().optional(),
  url: z.string().optional().meta(ADDRESS),
  capabilities: z.array(z.string()).optional(),
  reachable: z.boolean().optional().meta({ description: 'Whether it answered a signed call just now' }),
  lastSeenAt: timeSchema.optional(),
  latencyMs: z.int().optional(),
  boundAt: timeSchema.optional(),
  keyId: z.string().optional(),
  rotationPending: z.boolean().optional(),
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

export const keyRotatedSchema = z.object({ keyId: z.string() });

export const credentialTicketRequestSchema = z.strictObject({
  jkt: thumbprintSchema.optional().meta({ description: "Thumbprint of a sealed record's recipient" }),
});

export const credentialTicketSchema = z.object({
  url: z.string().meta({ description: 'Works once' }),
  expiresAt: timeSchema,
});

/** The shape of {@link webhookSchema}; members that are not known are left out. */
export function toWebhookView({ link, reachable }: WebhookView): z.infer<typeof webhookSchema> {
  const { webhookId, url, capabilities, lastSeenAt, latencyMs, boundAt, key, pendingKey, setAside } = link;
  return {
    bound: true,
    webhookId,
    url,
    capabilities: [...capabilities],
    reachable,
    ...(lastSeenAt !== undefined && { lastSeenAt }),
    ...(latencyMs !== undefined && { latencyMs }),
    boundAt,
    keyId: key.id,
    rotationPending: pendingKey !== undefined,
    ...(setAside !== undefined && { setAside: { reason: setAside.reason, until: setAside.until } }),
  };
}
