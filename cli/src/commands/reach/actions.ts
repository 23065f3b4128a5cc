import { formatRequestRule, requestRulesSchema } from '@svault/shared/request-rules';
import * as z from 'zod';
import { agentReferred } from '../../api/agents.ts';
import { apiClient } from '../../api/api-client.ts';
import { grantSchema } from '../../api/grants.ts';
import { referred } from '../../api/resource.ts';
import { PROXY } from '../../api/resources.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import type { Run } from '../../invocation.ts';
import { withQuery } from '../../json-in.ts';
import { type Shape, printList } from '../../output/print.ts';

const hosts = z.array(z.string()).nullable();
const reachSchema = z.looseObject({
  caller: z.looseObject({
    type: z.string(),
    id: z.string(),
    name: z.string(),
    lastUsedAt: z.string().nullable(),
    upstreamUrl: z.string().optional(),
  }),
  credential: z.looseObject({
    serviceName: z.string(),
    stored: z.boolean().nullable(),
    delivery: z.string().nullable(),
    allowedHosts: hosts,
    allowedHeaders: hosts,
    allowedQuery: z.array(z.string()).optional(),
    requests: requestRulesSchema.nullish(),
  }),
  grant: grantSchema.nullable(),
  policies: z.array(z.looseObject({ name: z.string(), targetType: z.string(), rules: z.array(z.string()) })),
  channels: z.array(z.looseObject({ channel: z.string(), denial: z.string().nullable() })),
});
type Reach = z.infer<typeof reachSchema>;

/** The channel of a proxy, or the one that every agent has. */
const firstDenial = ({ channels }: Reach): string | null | undefined => channels[0]?.denial;

const REACH: Shape<Reach> = {
  columns: [
    { title: 'who', of: ({ caller }) => (caller.type === 'proxy' ? `proxy ${caller.name}` : caller.name) },
    { title: 'credential', of: ({ credential }) => credential.serviceName },
    {
      title: 'now',
      of: (reach) => firstDenial(reach) ?? 'can be used',
      tone: (reach) => (firstDenial(reach) === null ? undefined : 'yellow'),
      whole: true,
    },
    {
      title: 'until',
      of: ({ grant }, { time }) =>
        grant === null ? '' : grant.grantExpiresAt === null ? 'revoked' : time(grant.grantExpiresAt),
      whole: true,
    },
    { title: 'policies', of: ({ policies }) => policies.map(({ name }) => name).join(', ') },
    {
      title: 'stored',
      of: ({ credential: { stored } }) => (stored === null ? 'unknown' : stored ? 'yes' : 'no'),
      wide: true,
    },
    { title: 'delivery', of: ({ credential }) => credential.delivery ?? '', wide: true },
    { title: 'hosts', of: ({ credential }) => credential.allowedHosts?.join(', ') ?? '', wide: true },
    { title: 'headers', of: ({ credential }) => credential.allowedHeaders?.join(', ') ?? '', wide: true },
    { title: 'query', of: ({ credential }) => credential.allowedQuery?.join(', ') ?? '', wide: true },
    {
      title: 'requests',
      of: ({ credential }) => (credential.requests ?? []).map(formatRequestRule).join('; '),
      wide: true,
    },
    {
      title: 'by mcp',
      of: ({ channels }) => {
        const mcp = channels.find(({ channel }) => channel === 'mcp');
        return mcp === undefined ? '' : (mcp.denial ?? 'can be used');
      },
      wide: true,
    },
    { title: 'upstream', of: ({ caller }) => caller.upstreamUrl ?? '', wide: true },
    { title: 'folder', of: ({ grant }) => grant?.sourceGroupId ?? '', wide: true },
    { title: 'last used', of: ({ caller }, { time }) => time(caller.lastUsedAt), wide: true },
    { title: 'id', of: ({ caller }) => caller.id, wide: true },
  ],
  name: ({ caller, credential }) => `${caller.name} ${credential.serviceName}`,
  none: 'no credential can be reached: svault grant AGENT SERVICE',
};

interface Options {
  readonly agent?: string;
  readonly service?: string;
  readonly proxy?: string;
}

/** `reach` */
export const listReach: Run<[], Options> = async (invocation, _, { agent, service, proxy }) => {
  const serviceName = service === undefined ? undefined : serviceNameFrom(service);
  const client = await apiClient(invocation);
  const path = withQuery('/api/reach', {
    agentId: agent === undefined ? undefined : (await agentReferred(client, agent)).id,
    proxyId: proxy === undefined ? undefined : (await referred(client, PROXY, proxy)).id,
    serviceName,
  });
  printList(invocation, await client.readAll(path, reachSchema), REACH);
};
