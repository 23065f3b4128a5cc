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
import { keyOfProxy, proxyKeySchema } from './key.ts';

export const proxySchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  kind: z.enum(['mcp', 'http']),
  address: z.string(),
  upstreamUrl: z.string(),
  upstreamAuthType: z.string(),
  serviceName: z.string().optional(),
  agentId: z.string().optional(),
  headerTemplates: z.record(z.string(), z.string()).optional(),
  queryTemplates: z.record(z.string(), z.string()).optional(),
  redirects: z.string().optional(),
  region: z.string().optional(),
  service: z.string().optional(),
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
      { title: 'kind', of: ({ kind }) => kind, whole: true },
      { title: 'upstream', of: ({ upstreamUrl }) => upstreamUrl },
      { title: 'credential', of: ({ serviceName = '' }) => serviceName },
      { title: 'last used', of: ({ lastUsedAt }, { time }) => time(lastUsedAt) || 'never', whole: true },
      { title: 'id', of: ({ id }) => id, whole: true },
      { title: 'agent', of: ({ agentId = '' }) => agentId, wide: true },
      {
        title: 'headers',
        of: ({ headerTemplates }) => templateLines(headerTemplates, ': '),
        wide: true,
      },
      {
        title: 'query',
        of: ({ queryTemplates }) => templateLines(queryTemplates, '='),
        wide: true,
      },
      {
        title: 'redirects',
        of: ({ kind, redirects }) =>
          kind === 'mcp' ? '' : redirects === undefined ? 'denied' : 'followed without the credential',
        wide: true,
      },
      {
        title: 'signed for',
        of: ({ upstreamAuthType, region = '', service = '' }) =>
          upstreamAuthType === 'aws_sigv4'
            ? ['AWS', region, service].filter((each) => each !== '').join(' ')
            : '',
        wide: true,
      },
      { title: 'address', of: ({ address }) => address, wide: true },
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

const templateLines = (templates: Readonly<Record<string, string>> = {}, separator: string): string =>
  Object.entries(templates)
    .map(([name, value]) => name + separator + value)
    .join('\n');

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
  readonly query?: readonly string[];
  readonly followRedirects?: boolean;
  readonly region?: string;
  readonly awsService?: string;
}

/** Option values that reset a setting: null in the API. */
const USUAL_HEADERS = 'default';
const NO_QUERY = 'none';
const NO_AGENT = 'none';
const FROM_HOST = 'host';

const AUTH_TYPES = { token: 'Token', 'sv-session': 'sv_session', 'aws-sigv4': 'aws_sigv4' } as const;

async function settingsFrom(
  client: ApiClient,
  { name, upstreamUrl, service, allowMissing, agent, header, query, followRedirects, ...scope }: ProxyOptions,
): Promise<Readonly<Record<string, unknown>>> {
  return given({
    name,
    upstreamUrl,
    serviceName: service === undefined ? undefined : serviceNameFrom(service),
    allowMissing: service === undefined ? undefined : allowMissing,
    agentId: agent === undefined || agent === NO_AGENT ? undefined : (await agentReferred(client, agent)).id,
    headerTemplates: header === undefined || isOnly(header, USUAL_HEADERS) ? undefined : headersIn(header),
    queryTemplates: query === undefined || isOnly(query, NO_QUERY) ? undefined : parametersIn(query),
    redirects: followRedirects === true ? 'follow-without-credential' : undefined,
    region: scope.region === FROM_HOST ? undefined : scope.region,
    service: scope.awsService === FROM_HOST ? undefined : scope.awsService,
  });
}

const isOnly = (texts: readonly string[] | undefined, value: string): boolean => texts?.join() === value;

/** @throws Failure usage, without the parameter's text */
function parametersIn(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at < 1) throw usage("--query takes NAME=VALUE, such as --query 'key=${TOKEN}'");
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** @throws Failure usage, without the header's text */
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

const USES = { mcp: 'for MCP clients at', http: 'with the base URL' } as const;

/** @param body as `POST /api/proxies` takes it */
export const newProxy = (client: ApiClient, body: object): Promise<z.infer<typeof madeSchema>> =>
  client.change({ method: 'POST', path: PROXY.path, body, schema: madeSchema });

const madeSchema = z.looseObject({ proxy: proxySchema, ...proxyKeySchema.shape });

/** `proxies create` */
export const createProxy: Run<
  [],
  ProxyOptions & { readonly auth?: keyof typeof AUTH_TYPES; readonly kind?: 'http' | 'mcp' }
> = async (invocation, _, { auth, kind, ...options }) => {
  const { name, upstreamUrl } = options;
  if (name === undefined || upstreamUrl === undefined)
    throw usage('a proxy needs a name and an upstream: --name and --upstream-url');
  const client = await apiClient(invocation);
  const upstreamAuthType = auth && AUTH_TYPES[auth];
  const body = given({ ...(await settingsFrom(client, options)), upstreamAuthType, kind });
  const answer = await newProxy(client, body);
  const { proxy, key } = answer;
  printSecret(invocation, {
    said: `the proxy ${name} (${proxy.id}) is created, ${USES[proxy.kind]} ${proxy.address}`,
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
    ...(isOnly(options.header, USUAL_HEADERS) && { headerTemplates: null }),
    ...(isOnly(options.query, NO_QUERY) && { queryTemplates: null }),
    ...(options.followRedirects === false && { redirects: null }),
    ...(options.region === FROM_HOST && { region: null }),
    ...(options.awsService === FROM_HOST && { service: null }),
  }),
  proxyWarning,
);

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
