import * as z from 'zod';
import { agentReferred } from '../../api/agents.ts';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { nameOrId, pathOf, referred } from '../../api/resource.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { usage } from '../../failure.ts';
import { given } from '../../json-in.ts';
import type { Run } from '../../invocation.ts';
import { printDone, printSecret } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { confirm } from '../../secret-input/ask.ts';
import { PROXY } from '../../api/resources.ts';
import { proxyWarning } from '../tokens/usability.ts';
import { type PrintedResource, editing, listing, removing, showing } from '../resource-commands.ts';

export const proxySchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  upstreamUrl: z.string(),
  upstreamAuthType: z.string(),
  serviceName: z.string().optional(),
  agentId: z.string().optional(),
  headerTemplates: z.record(z.string(), z.string()).optional(),
  status: z.string(),
  keyPrefix: z.string(),
  createdAt: z.string(),
  lastUsedAt: z.string().optional(),
  webhook: z.looseObject({ delivered: z.boolean() }).optional(),
});

const PROXIES: PrintedResource<z.infer<typeof proxySchema>> = {
  resource: PROXY,
  schema: proxySchema,
  shape: (all) => ({
    columns: [
      { title: 'name', of: ({ name }) => name },
      {
        title: 'status',
        of: ({ status }) => status,
        tone: ({ status }) => (status === 'revoked' ? 'yellow' : undefined),
        whole: true,
      },
      { title: 'upstream', of: ({ upstreamUrl }) => upstreamUrl },
      { title: 'credential', of: ({ serviceName = '' }) => serviceName },
      { title: 'last used', of: ({ lastUsedAt }, { time }) => time(lastUsedAt) || 'never', whole: true },
      { title: 'id', of: ({ id }) => id, whole: true },
      { title: 'agent', of: ({ agentId = '' }) => agentId, wide: true },
      {
        title: 'headers',
        of: ({ headerTemplates = {} }) =>
          Object.entries(headerTemplates)
            .map(([name, value]) => `${name}: ${value}`)
            .join('\n'),
        wide: true,
      },
      {
        title: 'at the webhook',
        of: ({ webhook }) =>
          webhook === undefined ? '' : webhook.delivered ? 'yes' : 'with the next request',
        wide: true,
      },
      { title: 'key', of: ({ keyPrefix }) => keyPrefix, wide: true },
      { title: 'created', of: ({ createdAt }, { time }) => time(createdAt), wide: true },
    ],
    name: nameOrId(all),
    none: 'there are no proxies yet: svault proxies create --name NAME --upstream-url URL --service SERVICE',
  }),
};

/** `proxies list` */
export const listProxies = listing(PROXIES);
/** `proxies show PROXY` */
export const showProxy = showing(PROXIES);
/** `proxies rm PROXY` */
export const removeProxy = removing(PROXY, {
  question: ({ name, id }) => `Delete the proxy ${name} (${id}) and its key, for good?`,
  said: ({ name, id }) => `the proxy ${name} (${id}) is deleted, with its key`,
});

interface ProxyOptions {
  readonly name?: string;
  readonly upstreamUrl?: string;
  readonly service?: string;
  readonly allowMissing?: true;
  readonly agent?: string;
  readonly header?: readonly string[];
}

/** The usual headers again, and no agent any more: null at the API. */
const NO_HEADERS = ['default'];
const NO_AGENT = 'none';

async function settingsFrom(
  client: ApiClient,
  { name, upstreamUrl, service, allowMissing, agent, header }: ProxyOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const isUsual = header?.join() === NO_HEADERS.join();
  return given({
    name,
    upstreamUrl,
    serviceName: service === undefined ? undefined : serviceNameFrom(service),
    allowMissing: service === undefined ? undefined : allowMissing,
    agentId: agent === undefined || agent === NO_AGENT ? undefined : (await agentReferred(client, agent)).id,
    headerTemplates: header === undefined || isUsual ? undefined : headersIn(header),
  });
}

/** @throws Failure usage; what stands in a header is not repeated */
function headersIn(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(\S.*)$/.exec(text) ?? [];
      if (name === undefined || value === undefined)
        throw usage("--header takes NAME: VALUE, such as --header 'X-Api-Key: ${TOKEN}'");
      return [name, value.trimEnd()];
    }),
  );
}

/** Where MCP clients use proxies, each by its key. */
export const proxyAddress = ({ login }: ApiClient): string => `${login.context.baseUrl}/api/proxy/mcp`;

/** @param body as `POST /api/proxies` takes it */
export const newProxy = (client: ApiClient, body: object): Promise<z.infer<typeof madeSchema>> =>
  client.change({ method: 'POST', path: PROXY.path, body, schema: madeSchema });

const madeSchema = z.looseObject({ proxy: proxySchema, key: z.string().regex(/^mcp_[!-~]+$/) });

/** `proxies create` */
export const createProxy: Run<[], ProxyOptions & { readonly auth?: 'token' | 'sv-session' }> = async (
  invocation,
  _,
  { auth, ...options },
) => {
  const { name, upstreamUrl } = options;
  if (name === undefined || upstreamUrl === undefined)
    throw usage('a proxy needs a name and an upstream: --name and --upstream-url');
  const client = await apiClient(invocation);
  const upstreamAuthType = auth === 'sv-session' ? 'sv_session' : undefined;
  const body = given({ ...(await settingsFrom(client, options)), upstreamAuthType });
  const answer = await newProxy(client, body);
  const { proxy, key } = answer;
  printSecret(invocation, {
    said: `the proxy ${name} (${proxy.id}) is created, for MCP clients at ${proxyAddress(client)}`,
    answer,
    name,
    secret: { called: 'key', text: key },
  });
  const warning = await proxyWarning(client, proxy);
  if (warning !== undefined) say(invocation, warning);
};

/** `proxies edit PROXY` */
export const editProxy = editing(
  PROXIES,
  async (options: ProxyOptions, _, { client }) => ({
    ...(await settingsFrom(client, options)),
    ...(options.agent === NO_AGENT && { agentId: null }),
    ...(options.header?.join() === NO_HEADERS.join() && { headerTemplates: null }),
  }),
  proxyWarning,
);

/** The key of a proxy that is there; the log records that it was shown. */
export const keyOfProxy = (client: ApiClient, id: string): Promise<z.infer<typeof keySchema>> =>
  client.change({ method: 'POST', path: `${pathOf(PROXY, id)}/reveal-key`, schema: keySchema });

const keySchema = z.looseObject({ key: z.string() });

/** `proxies reveal-key PROXY` */
export const revealProxyKey: Run<[string]> = async (invocation, [reference]) => {
  const client = await apiClient(invocation);
  const { id, name } = await referred(client, PROXY, reference);
  const answer = await keyOfProxy(client, id);
  printSecret(invocation, {
    said: `the log records that the key of ${name} was shown`,
    answer,
    name: reference,
    secret: { called: 'key', text: answer.key },
  });
};

/** `proxies revoke PROXY` */
export const revokeProxy: Run<[string], { readonly yes?: true }> = async (
  invocation,
  [reference],
  options,
) => {
  const client = await apiClient(invocation);
  const { id, name, status } = await referred(client, PROXY, reference);
  const wasRevoked = status === 'revoked';
  if (!wasRevoked) await confirm(invocation, `End the key of the proxy ${name} (${id}) for good?`, options);
  const path = `${pathOf(PROXY, id)}/revoke`;
  const answer = await client.change({ method: 'POST', path, schema: proxySchema });
  printDone(invocation, {
    said: `the key of ${name} ${wasRevoked ? 'was revoked already' : 'is revoked'}`,
    answer,
    name: reference,
  });
};
