import { awsSigningSchema, headerTemplatesSchema, queryTemplatesSchema } from '@svault/shared/schemas';
import * as z from 'zod';
import { ownOf } from '../../core/change.ts';
import type { Actor } from '../../core/actor.ts';
import {
  FOLLOW_REDIRECTS,
  PROXY_KINDS,
  PROXY_PATHS,
  type Proxy,
  UPSTREAM_AUTH_TYPES,
  neededCapability,
} from '../../core/proxy.ts';
import type { WebhookLink } from '../../core/webhook-link.ts';
import { deliveryMark } from '../../forwarding/proxy-config-sync.ts';
import type { NewProxy } from '../../management/proxy-settings.ts';
import {
  activeProxyOf,
  createOfferConfig,
  createProxy,
  deleteProxy,
  requireCapability,
  revealProxyKey,
  revokeProxy,
  updateProxy,
} from '../../management/proxies.ts';
import type { Needs } from './dependencies.ts';
import {
  allowMissingSchema,
  idParams,
  idSchema,
  nameSchema,
  namedPageQuery,
  namedPageRequest,
  pageSchema,
  serviceNameSchema,
  timeSchema,
  viewOfPage,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const agentIdSchema = idSchema('agt');
const authTypeSchema = z.enum(UPSTREAM_AUTH_TYPES).meta({
  description:
    'Token: the webhook injects the credential. sv_session: the service sends a session of the agent, for this upstream only. aws_sigv4, for kind http: the webhook signs each call with the credential, an AWS access key',
});
const kindSchema = z.enum(PROXY_KINDS).meta({
  description:
    'mcp: an MCP server. http: an HTTP API; what follows the address of the proxy follows upstreamUrl',
});
const upstreamUrlSchema = z
  .string()
  .max(2_048)
  .meta({
    description: 'Without secrets: those are credentials. For http without query',
    examples: ['https://mcp.example.com/mcp'],
  });
const templatesSchema = headerTemplatesSchema.meta({
  description:
    'Headers that are sent along; ${TOKEN} or $<TOKEN> stands for the credential, ${BASIC:user} for `user:credential` in base64',
  examples: [{ authorization: 'Bearer ${TOKEN}' }],
});
const queryTemplatesInput = queryTemplatesSchema.meta({
  description:
    'For kind http: query parameters that the webhook adds, where the credential may be in the query',
  examples: [{ key: '${TOKEN}' }],
});
const redirectsSchema = z.literal(FOLLOW_REDIRECTS).meta({
  description:
    'For kind http: the webhook follows redirects of GET and HEAD to other origins, without the credential. Without it they are denied',
});

const scopeMeta = {
  description: 'With aws_sigv4, and needed where the host of upstreamUrl does not tell it',
};
const regionSchema = awsSigningSchema.shape.region
  .unwrap()
  .meta({ ...scopeMeta, examples: ['eu-central-1'] });
const serviceSchema = awsSigningSchema.shape.service.unwrap().meta({ ...scopeMeta, examples: ['s3'] });

export const proxySchema = z
  .object({
    id: z.string().meta({ examples: ['prx_…'] }),
    name: z.string(),
    kind: kindSchema,
    address: z.string().meta({
      description: 'Where agents reach it: the address of an MCP server, or the base URL of an HTTP API',
      examples: ['https://svault.example.org/api/proxy/mcp'],
    }),
    upstreamUrl: z.string(),
    upstreamAuthType: authTypeSchema,
    serviceName: z.string().optional().meta({ description: 'Of the credential; not with sv_session' }),
    agentId: z
      .string()
      .optional()
      .meta({ description: 'While this agent is not active, the proxy is refused' }),
    headerTemplates: z.record(z.string(), z.string()).optional(),
    queryTemplates: z.record(z.string(), z.string()).optional(),
    redirects: redirectsSchema.optional(),
    region: regionSchema.optional(),
    service: serviceSchema.optional(),
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

const proxyWithKeySchema = z.object({
  proxy: proxySchema,
  key: z.string().meta({ description: 'The key, in full; keep it now' }),
});

const proxyKeySchema = z.object({ key: z.string() });

const newProxySchema = z
  .strictObject({
    name: nameSchema('prx'),
    kind: kindSchema.optional(),
    upstreamUrl: upstreamUrlSchema,
    upstreamAuthType: authTypeSchema.optional(),
    serviceName: serviceNameSchema.optional(),
    allowMissing: allowMissingSchema,
    agentId: agentIdSchema.optional(),
    headerTemplates: templatesSchema.optional(),
    queryTemplates: queryTemplatesInput.optional(),
    redirects: redirectsSchema.optional(),
    region: regionSchema.optional(),
    service: serviceSchema.optional(),
  })
  .meta({ id: 'NewProxy' });

const proxyChangesSchema = newProxySchema
  .omit({ kind: true, upstreamAuthType: true })
  .partial()
  .extend({
    agentId: agentIdSchema.nullable().optional(),
    headerTemplates: templatesSchema
      .nullable()
      .optional()
      .meta({ description: 'null: the usual ones again' }),
    queryTemplates: queryTemplatesInput.nullable().optional(),
    redirects: redirectsSchema.nullable().optional(),
    region: regionSchema.nullable().optional(),
    service: serviceSchema.nullable().optional(),
  })
  .meta({ id: 'ProxyChanges' });

/** Specification, "MCP proxy": `Token` is the default. */
const toNewProxy = ({
  kind = 'mcp',
  upstreamAuthType = 'Token',
  allowMissing: _check,
  ...input
}: z.output<typeof newProxySchema>): NewProxy => ({
  serviceName: undefined,
  agentId: undefined,
  headerTemplates: undefined,
  queryTemplates: undefined,
  redirects: undefined,
  region: undefined,
  service: undefined,
  ...input,
  kind,
  upstreamAuthType,
});

/**
 * @param baseUrl of this control plane
 * @param link the vault's webhook
 */
function toProxyView(
  proxy: Proxy,
  baseUrl: string,
  link: WebhookLink | undefined,
): z.output<typeof proxySchema> {
  const isAtWebhook =
    proxy.upstreamAuthType !== 'sv_session' && proxy.status === 'active' && link !== undefined;
  const delivered = isAtWebhook && proxy.deliveredAs === deliveryMark(link.webhookId, proxy.revision);
  const address = baseUrl + PROXY_PATHS[proxy.kind];
  return { ...proxy, address, webhook: isAtWebhook ? { delivered } : undefined };
}

export function createProxyRoutes(
  dependencies: Needs<
    | 'baseUrl'
    | 'clock'
    | 'egressAllow'
    | 'logger'
    | 'masterKeys'
    | 'ownOrigin'
    | 'proxyConfigs'
    | 'status'
    | 'webhook',
    'proxies' | 'webhookLinks'
  >,
): ManagementRoute[] {
  const { baseUrl, clock, egressAllow, masterKeys, ownOrigin, stores, webhook } = dependencies;
  const offerConfig = createOfferConfig({ ...dependencies, delivery: dependencies.proxyConfigs });
  const rules = { plainHttp: egressAllow.length > 0, ownOrigin };
  const health = { links: stores.webhookLinks, webhook, clock };
  const shared = { tag: 'Proxies', role: 'member' } as const;
  const byId = { ...shared, params: idParams('prx') } as const;
  const proxy = { status: 200, schema: proxySchema } as const;
  const viewOf = async ({ vaultId }: Actor, of: Proxy) =>
    toProxyView(of, baseUrl, await stores.webhookLinks.find(vaultId));
  return [
    defineRoute('POST /api/proxies', {
      ...shared,
      operation: 'createProxy',
      summary: 'Create a proxy; its key is in the answer',
      body: newProxySchema,
      response: { status: 201, schema: proxyWithKeySchema },
      errors: ['CONFLICT'],
      handle: async ({ actor, body, transaction }) => {
        const [input, { allowMissing }] = [toNewProxy(body), body];
        const options = { clock, masterKeys, rules, allowMissing };
        const needed = neededCapability(input);
        if (needed !== undefined) await requireCapability(health, actor.vaultId, needed);
        const made = await transaction((inside) => createProxy(inside, input, options));
        return { proxy: await viewOf(actor, await offerConfig(made.proxy)), key: made.key };
      },
    }),
    defineRoute('GET /api/proxies', {
      ...shared,
      operation: 'listProxies',
      summary: 'List proxies, oldest first; revoked ones too',
      query: z.strictObject(namedPageQuery),
      response: { status: 200, schema: pageSchema(proxySchema) },
      handle: async ({ actor: { vaultId }, query }) => {
        const link = await stores.webhookLinks.find(vaultId);
        return viewOfPage(stores.proxies.list(vaultId, namedPageRequest(query)), (item) =>
          toProxyView(item, baseUrl, link),
        );
      },
    }),
    defineRoute('GET /api/proxies/{id}', {
      ...byId,
      operation: 'getProxy',
      summary: 'Read a proxy, a revoked one too',
      response: proxy,
      handle: async ({ actor, params }) => viewOf(actor, await ownOf(stores.proxies, actor, params.id)),
    }),
    defineRoute('PATCH /api/proxies/{id}', {
      ...byId,
      operation: 'updateProxy',
      summary: 'Change a proxy; members left out stay',
      body: proxyChangesSchema,
      response: proxy,
      errors: ['CONFLICT'],
      handle: async ({ actor, body: { allowMissing, ...changes }, transaction, params }) => {
        const checks = { rules, allowMissing };
        const changed = await transaction((inside) => updateProxy(inside, params.id, changes, checks));
        return viewOf(actor, await offerConfig(changed));
      },
    }),
    defineRoute('DELETE /api/proxies/{id}', {
      ...byId,
      operation: 'deleteProxy',
      summary: 'Delete a proxy; its key ends at once, and its settings leave the webhook',
      change: (inside, { params }) => deleteProxy(inside, params.id, clock),
    }),
    defineRoute('POST /api/proxies/{id}/revoke', {
      ...byId,
      operation: 'revokeProxy',
      summary: "End a proxy's key for good, and keep the proxy for the record",
      response: proxy,
      handle: async ({ actor, transaction, params }) =>
        viewOf(actor, await transaction((inside) => revokeProxy(inside, params.id, clock))),
    }),
    defineRoute('POST /api/proxies/{id}/reveal-key', {
      ...byId,
      operation: 'revealProxyKey',
      summary: "Show a proxy's key once more; audited",
      limit: {
        scope: 'key_reveal',
        target: async ({ actor, params }) => (await activeProxyOf(stores, actor, params.id)).id,
      },
      response: { status: 200, schema: proxyKeySchema },
      errors: ['CONFLICT'],
      change: async (inside, { params }) => ({
        key: await revealProxyKey(inside, params.id, masterKeys),
      }),
    }),
  ];
}
