import { z } from 'zod';
import { headerTemplatesSchema } from '@svault/shared/schemas';
import { deliveryMark } from '../../../forwarding/proxy-config-sync.ts';
import type { NewProxy } from '../../../management/manage-proxies.ts';
import type { Proxy } from '../../../core/proxy.ts';
import type { WebhookLink } from '../../../core/webhook-link.ts';
import { lineSchema, serviceNameSchema, timeSchema } from './fields.ts';

const nameSchema = lineSchema(100);
const agentIdSchema = z.string().meta({ examples: ['agt_…'] });
const authTypeSchema = z.enum(['Token', 'sv_session']).meta({
  description:
    'Token: the webhook injects the credential. sv_session: the service sends a session of the agent, for this upstream only',
});
const upstreamUrlSchema = z
  .string()
  .max(2_048)
  .meta({ description: 'Without secrets: those are credentials', examples: ['https://mcp.example.com/mcp'] });
const templatesSchema = headerTemplatesSchema.meta({
  description: 'Headers that are sent along; ${TOKEN} or $<TOKEN> stands for the credential',
  examples: [{ authorization: 'Bearer ${TOKEN}' }],
});

export const proxySchema = z
  .object({
    id: z.string().meta({ examples: ['prx_…'] }),
    name: z.string(),
    upstreamUrl: z.string(),
    upstreamAuthType: authTypeSchema,
    serviceName: z.string().optional().meta({ description: 'Of the credential; with Token only' }),
    agentId: z
      .string()
      .optional()
      .meta({ description: 'While this agent is not active, the proxy is refused' }),
    headerTemplates: z.record(z.string(), z.string()).optional(),
    status: z.enum(['active', 'revoked']),
    keyPrefix: z.string().meta({ description: 'The first characters of its key' }),
    createdAt: timeSchema,
    revokedAt: timeSchema.optional(),
    lastUsedAt: timeSchema.optional(),
    webhook: z.object({ delivered: z.boolean() }).optional().meta({
      description:
        "Whether the vault's webhook has these settings by now; else the next request brings them. Absent where it needs none",
    }),
  })
  .meta({ id: 'Proxy' });

export const proxyWithKeySchema = z.object({
  proxy: proxySchema,
  key: z.string().meta({ description: 'The key, in full; keep it now' }),
});

export const proxyKeySchema = z.object({ key: z.string() });

export const newProxySchema = z
  .strictObject({
    name: nameSchema,
    upstreamUrl: upstreamUrlSchema,
    upstreamAuthType: authTypeSchema.optional(),
    serviceName: serviceNameSchema.optional(),
    agentId: agentIdSchema.optional(),
    headerTemplates: templatesSchema.optional(),
  })
  .meta({ id: 'NewProxy' });

export const proxyChangesSchema = z
  .strictObject({
    name: nameSchema.optional(),
    upstreamUrl: upstreamUrlSchema.optional(),
    serviceName: serviceNameSchema.optional(),
    agentId: agentIdSchema.nullable().optional(),
    headerTemplates: templatesSchema
      .nullable()
      .optional()
      .meta({ description: 'null: the usual ones again' }),
  })
  .meta({ id: 'ProxyChanges' });

/** Specification, "MCP proxy": `Token` is the default. */
export const toNewProxy = ({
  upstreamAuthType = 'Token',
  ...input
}: z.output<typeof newProxySchema>): NewProxy => ({
  serviceName: undefined,
  agentId: undefined,
  headerTemplates: undefined,
  ...input,
  upstreamAuthType,
});

/** @param link the vault's webhook */
export function toProxyView(proxy: Proxy, link: WebhookLink | undefined): z.output<typeof proxySchema> {
  const { id, name, upstreamUrl, upstreamAuthType, status, keyPrefix, createdAt } = proxy;
  const { serviceName, agentId, headerTemplates, revokedAt, lastUsedAt } = proxy;
  const isAtWebhook = upstreamAuthType === 'Token' && status === 'active' && link !== undefined;
  return {
    id,
    name,
    upstreamUrl,
    upstreamAuthType,
    ...(serviceName !== undefined && { serviceName }),
    ...(agentId !== undefined && { agentId }),
    ...(headerTemplates !== undefined && { headerTemplates }),
    status,
    keyPrefix,
    createdAt,
    ...(revokedAt !== undefined && { revokedAt }),
    ...(lastUsedAt !== undefined && { lastUsedAt }),
    ...(isAtWebhook && {
      webhook: { delivered: proxy.deliveredAs === deliveryMark(link.webhookId, proxy.revision) },
    }),
  };
}
