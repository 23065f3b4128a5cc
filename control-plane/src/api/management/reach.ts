import { formatTime } from '@svault/shared';
import { tokenMetadataSchema } from '@svault/shared/schemas';
import * as z from 'zod';
import {
  REACH_CHANNELS,
  REACH_DENIALS,
  REACH_STATES,
  type Reach,
  readReach,
  readReachMatrix,
} from '../../access/reach.ts';
import { AGENT_STATUSES } from '../../core/agent.ts';
import { TARGET_TYPES } from '../../core/policy.ts';
import { REACH_ORDERS, callerIdOf } from '../../core/reach.ts';
import { RULES } from '../../policies/rules.ts';
import type { Needs } from './dependencies.ts';
import {
  idSchema,
  pageQuery,
  pageRequest,
  pageSchema,
  serviceNameSchema,
  timeSchema,
  uniqueList,
} from './fields.ts';
import { grantSchema, toGrantView } from './grants.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const { delivery, allowedHosts, allowedHeaders, allowedQuery, requests } = tokenMetadataSchema.shape;

const reachSchema = z
  .object({
    caller: z.object({
      type: z.enum(['agent', 'proxy']),
      id: z.string(),
      name: z.string(),
      status: z.enum(AGENT_STATUSES).meta({ description: 'Revoked proxies reach nothing and are left out' }),
      lastUsedAt: timeSchema.nullable().meta({ description: 'Of any credential, to the minute' }),
      upstreamUrl: z.string().optional().meta({ description: 'Of a proxy: where its calls go' }),
      agentId: z
        .string()
        .nullable()
        .optional()
        .meta({ description: 'Of a proxy: the agent that it acts for, which must be active; null: none' }),
    }),
    credential: z.object({
      serviceName: z.string(),
      described: z.boolean().meta({ description: 'Whether the account has a credential of this name' }),
      stored: z
        .boolean()
        .nullable()
        .meta({ description: 'null where the webhook holds no record or does not answer at once' }),
      delivery: delivery.nullable().meta({ description: 'What is sealed with the credential, as the rest' }),
      allowedHosts: allowedHosts.nullable(),
      allowedHeaders: allowedHeaders.nullable(),
      allowedQuery,
      requests,
    }),
    grant: grantSchema
      .nullable()
      .meta({ description: 'Expired ones too; null for a proxy, which needs none' }),
    policies: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          targetType: z.enum(TARGET_TYPES).meta({ description: 'What the policy is attached to' }),
          rules: z.array(z.enum(Object.keys(RULES))),
        }),
      )
      .meta({ description: 'The enabled policies that decide, in the order in which denials are named' }),
    channels: z
      .array(
        z.object({
          channel: z.enum(REACH_CHANNELS),
          denial: z.enum(REACH_DENIALS).nullable().meta({
            description:
              'With what a request is denied now; null: policies and limits decide. DESTINATION_NOT_ALLOWED where what is sealed is known and does not let the credential go to the upstream of the proxy',
          }),
        }),
      )
      .meta({ description: 'The ways by which the caller asks' }),
  })
  .meta({ id: 'Reach' });

/** Most callers, and most credentials, of one matrix: their product bounds its work. */
const MAX_SIDE = 50;

const reachSelectionSchema = z
  .strictObject({
    callerIds: uniqueList(z.union([idSchema('agt'), idSchema('prx')]), MAX_SIDE).meta({
      description: 'Ids of agents and proxies',
    }),
    serviceNames: uniqueList(serviceNameSchema, MAX_SIDE),
  })
  .meta({ id: 'ReachSelection' });

const reachMatrixSchema = z
  .object({
    rows: z.array(z.array(z.enum(REACH_STATES))).meta({
      description:
        'A row of each caller with a state of each service name, in the order of the request. none: without a grant, or a ' +
        'proxy of another credential; allowed: a request is allowed now; conditional: policies decide about it; denied: a ' +
        'request is denied now',
    }),
  })
  .meta({ id: 'ReachMatrix' });

interface Surroundings {
  /** Names of the account's credentials. */
  readonly known: ReadonlySet<string>;
  readonly now: string;
}

function toReachView(reach: Reach, { known, now }: Surroundings): z.output<typeof reachSchema> {
  const { serviceName, record } = reach;
  const { name, status, lastUsedAt = null } = callerOf(reach);
  return {
    caller: {
      ...{ type: reach.type, id: callerIdOf(reach), name, status, lastUsedAt },
      ...(reach.type === 'proxy' && {
        upstreamUrl: reach.proxy.upstreamUrl,
        agentId: reach.proxy.agentId ?? null,
      }),
    },
    credential: {
      serviceName,
      described: known.has(serviceName),
      stored: record === undefined ? null : !record.empty,
      delivery: record?.delivery ?? null,
      allowedHosts: record?.allowedHosts ?? null,
      allowedHeaders: record?.allowedHeaders ?? null,
      allowedQuery: record?.allowedQuery,
      ...(record?.requests !== undefined && { requests: record.requests }),
    },
    grant: reach.type === 'agent' ? toGrantView(reach.grant, now) : null,
    policies: reach.policies.map(({ target, rules, ...policy }) => ({
      ...policy,
      targetType: target,
      rules: [...rules],
    })),
    channels: [...reach.channels],
  };
}

const callerOf = (reach: Reach) =>
  reach.type === 'agent' ? reach.agent : { ...reach.proxy, status: 'active' as const };

/** Who can reach what. */
export function createReachRoutes({
  clock,
  records,
  status,
  stores,
}: Needs<
  'clock' | 'records' | 'status',
  'agents' | 'policies' | 'proxies' | 'reach' | 'tokens' | 'vaults' | 'webhookLinks'
>): ManagementRoute[] {
  const reading = { stores, offlineForSeconds: status.offlineForSeconds, records, clock };
  return [
    defineRoute('GET /api/reach', {
      tag: 'Reach',
      operation: 'listReach',
      summary:
        'List which agent or proxy can reach which credential, with the grant and the policies that decide, and whether a request is denied now',
      role: 'member',
      query: z.strictObject({
        ...pageQuery,
        agentId: idSchema('agt')
          .optional()
          .meta({ description: 'Only of this agent, and of the proxies that act for it' }),
        proxyId: idSchema('prx').optional(),
        serviceName: serviceNameSchema.optional(),
        by: z
          .enum(REACH_ORDERS)
          .optional()
          .meta({ description: 'The order of the whole account; agent unless it says otherwise' }),
      }),
      response: { status: 200, schema: pageSchema(reachSchema) },
      handle: async ({ actor, query }) => {
        const page = await readReach(reading, actor, query, pageRequest(query));
        const names = [...new Set(page.items.map((item) => item.serviceName))];
        const known = await stores.tokens.known(actor.vaultId, names);
        const now = formatTime(clock.now());
        return { ...page, items: page.items.map((item) => toReachView(item, { known, now })) };
      },
    }),
    defineRoute('POST /api/reach/matrix', {
      tag: 'Reach',
      operation: 'readReachMatrix',
      summary:
        'Say which of some agents and proxies can reach which of some credentials now; changes nothing',
      role: 'member',
      whenLocked: 'allowed',
      limit: 'management_write',
      body: reachSelectionSchema,
      response: { status: 200, schema: reachMatrixSchema },
      handle: async ({ actor, body }) => ({ rows: await readReachMatrix(reading, actor, body) }),
    }),
  ];
}
