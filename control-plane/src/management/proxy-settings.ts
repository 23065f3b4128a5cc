import { isDeepStrictEqual } from 'node:util';
import { awsScope, isServiceName, markersIn } from '@svault/shared';
import { outgoingUrlSchema } from '@svault/shared/schemas';
import { type ArgumentIssue, invalidArgument } from '../core/errors.ts';
import { DEFAULT_TEMPLATES, type FOLLOW_REDIRECTS, type Proxy } from '../core/proxy.ts';
import type { Change } from '../core/stores.ts';

const MEMBERS = [
  'name',
  'kind',
  'upstreamUrl',
  'upstreamAuthType',
  'serviceName',
  'agentId',
  'headerTemplates',
  'queryTemplates',
  'redirects',
  'region',
  'service',
] as const satisfies readonly (keyof Proxy)[];

/** The members of a proxy that its owner sets. */
type ProxySettings = Pick<Proxy, (typeof MEMBERS)[number]>;

/** Settings as a request names them, with an unchecked agent id. */
export type NewProxy = Omit<ProxySettings, 'agentId'> & { readonly agentId: string | undefined };

/** Undefined members stay as they are; null removes the agent, query or redirects, or restores the default templates. */
export interface ProxyChanges {
  readonly name?: string | undefined;
  readonly upstreamUrl?: string | undefined;
  readonly serviceName?: string | undefined;
  readonly agentId?: string | null | undefined;
  readonly headerTemplates?: Readonly<Record<string, string>> | null | undefined;
  readonly queryTemplates?: Readonly<Record<string, string>> | null | undefined;
  readonly redirects?: typeof FOLLOW_REDIRECTS | null | undefined;
  readonly region?: string | null | undefined;
  readonly service?: string | null | undefined;
}

export const withChanges = (before: Proxy, changes: ProxyChanges): NewProxy => ({
  name: changes.name ?? before.name,
  kind: before.kind,
  upstreamUrl: changes.upstreamUrl ?? before.upstreamUrl,
  upstreamAuthType: before.upstreamAuthType,
  serviceName: changes.serviceName ?? before.serviceName,
  agentId: changed(before.agentId, changes.agentId),
  headerTemplates: changed(before.headerTemplates, changes.headerTemplates),
  queryTemplates: changed(before.queryTemplates, changes.queryTemplates),
  redirects: changed(before.redirects, changes.redirects),
  region: changed(before.region, changes.region),
  service: changed(before.service, changes.service),
});

/** Undefined keeps a member, null removes it. */
const changed = <Value>(before: Value, change: Value | null | undefined): Value | undefined =>
  change === undefined ? before : (change ?? undefined);

export const changedMembers = (before: Proxy, after: ProxySettings): readonly (keyof ProxySettings)[] =>
  MEMBERS.filter((member) => !isDeepStrictEqual(after[member], before[member]));

/** None where the credential goes into the query, or calls are signed with it. */
function defaultHeaders({ upstreamAuthType, queryTemplates }: NewProxy): Proxy['headerTemplates'] {
  if (upstreamAuthType === 'sv_session') return undefined;
  return upstreamAuthType === 'Token' && queryTemplates === undefined ? DEFAULT_TEMPLATES : {};
}

/** What the configuration of this service says about upstreams. */
export interface UpstreamRules {
  /** Whether `http:` is allowed, which the egress client checks at the call (SV_EGRESS_ALLOW). */
  readonly plainHttp: boolean;
  /** Scheme, host and port of this service's public address. */
  readonly ownOrigin: string;
}

const NO_SUCH_AGENT = { path: 'agentId', message: 'is no agent of this account, or a deleted one' };

/** @throws ApiError INVALID_ARGUMENT with every issue */
export async function checkedSettings(
  { actor, agents }: Pick<Change, 'actor' | 'agents'>,
  input: NewProxy,
  rules: UpstreamRules,
): Promise<ProxySettings> {
  const { agentId, upstreamAuthType, headerTemplates } = input;
  const agent = agentId === undefined ? undefined : await agents.get(actor.vaultId, agentId);
  const settings: ProxySettings = {
    ...input,
    agentId: agent?.id,
    headerTemplates: headerTemplates ?? defaultHeaders(input),
  };
  const isAbsent = agentId !== undefined && (agent === undefined || agent.status === 'deleted');
  const found = [
    ...issuesOfUpstream(settings, rules),
    ...issuesOfKind(settings),
    ...issuesOfSigning(settings),
    ...(upstreamAuthType === 'sv_session' ? issuesOfSession(settings, rules) : issuesOfToken(settings)),
  ];
  const issues = isAbsent ? [NO_SUCH_AGENT, ...found.filter(({ path }) => path !== 'agentId')] : found;
  if (issues.length > 0) throw invalidArgument(issues);
  return settings;
}

const AS_CREDENTIAL = 'store it as a credential';
const SECRET_NAME = /key|token|secret|password|sig/i;

/** Whether the query of an address has a member that is named like a secret. */
export const hasSecretInQuery = (url: URL): boolean =>
  [...url.searchParams.keys()].some((name) => SECRET_NAME.test(name));

function issuesOfUpstream({ upstreamUrl }: ProxySettings, { plainHttp }: UpstreamRules): ArgumentIssue[] {
  const issue = (message: string): ArgumentIssue => ({ path: 'upstreamUrl', message });
  if (!/^https?:\/\//i.test(upstreamUrl) || !URL.canParse(upstreamUrl))
    return [issue('must be a web address such as https://example.com/mcp')];
  const url = new URL(upstreamUrl);
  const issues = [];
  if (url.username !== '' || url.password !== '')
    issues.push(`must have no user name or password: ${AS_CREDENTIAL}`);
  if (hasSecretInQuery(url))
    issues.push(`must have no query member that is named like a secret: ${AS_CREDENTIAL}`);
  if (url.protocol === 'http:' && !plainHttp) issues.push('must start with https://');
  // Last, since it is the least specific: fragments, white space, and addresses that parsers read differently.
  if (issues.length === 0 && !outgoingUrlSchema.safeParse(upstreamUrl).success)
    issues.push('must be an address without fragment, white space and backslashes');
  return issues.map(issue);
}

/** @returns the issues of settings that the kind does not take (PROTOCOL.md section 5.3) */
function issuesOfKind(settings: ProxySettings): ArgumentIssue[] {
  const { kind, upstreamUrl, upstreamAuthType } = settings;
  if (kind === 'mcp')
    return (['queryTemplates', 'redirects'] as const)
      .filter((path) => settings[path] !== undefined)
      .map((path) => ({ path, message: 'is for kind http' }));
  const issues: ArgumentIssue[] = [];
  if (upstreamAuthType === 'sv_session')
    issues.push({ path: 'upstreamAuthType', message: 'must be Token or aws_sigv4 for kind http' });
  if (upstreamUrl.includes('?'))
    issues.push({ path: 'upstreamUrl', message: 'must have no query: the query of each request follows it' });
  return issues;
}

/** @returns the issues of settings for signing, and of those that do not go with it (PROTOCOL.md section 5.9) */
function issuesOfSigning(settings: ProxySettings): ArgumentIssue[] {
  const { kind, upstreamAuthType, upstreamUrl } = settings;
  if (upstreamAuthType !== 'aws_sigv4')
    return (['region', 'service'] as const)
      .filter((path) => settings[path] !== undefined)
      .map((path) => ({ path, message: 'is for upstreamAuthType aws_sigv4' }));
  const issues: ArgumentIssue[] = [];
  if (kind !== 'http') issues.push({ path: 'upstreamAuthType', message: 'is for kind http' });
  for (const path of ['headerTemplates', 'queryTemplates'] as const)
    for (const [name, template] of Object.entries(settings[path] ?? {}))
      if (markersIn(template) > 0)
        issues.push({ path: `${path}.${name}`, message: 'has a marker, but the credential only signs here' });
  if (!URL.canParse(upstreamUrl)) return issues;
  for (const path of ['region', 'service'] as const)
    if (awsScope({ region: 'any', service: 'any', [path]: settings[path] }, upstreamUrl) === undefined)
      issues.push({ path, message: 'is missing: the host of upstreamUrl does not tell it' });
  return issues;
}

/** Headers whose value is a secret, so that the webhook has to inject it. */
const SECRET_HEADERS = ['authorization', 'cookie', 'x-api-key', 'api-key', 'private-token'];

/** The secret headers among some templates that have no marker for the credential. */
const secretsInTemplates = (templates: Readonly<Record<string, string>>): string[] =>
  Object.entries(templates)
    .filter(([name, template]) => SECRET_HEADERS.includes(name.toLowerCase()) && markersIn(template) === 0)
    .map(([name]) => name);

function issuesOfToken({ serviceName, headerTemplates = {} }: ProxySettings): ArgumentIssue[] {
  const issues: ArgumentIssue[] = [];
  if (serviceName === undefined)
    issues.push({
      path: 'serviceName',
      message: 'is missing: the name of the credential to be injected',
    });
  else if (!isServiceName(serviceName)) issues.push({ path: 'serviceName', message: 'is no service name' });
  for (const name of secretsInTemplates(headerTemplates))
    issues.push({
      path: `headerTemplates.${name}`,
      message: `must contain \${TOKEN} or $<TOKEN>: if it is a secret, ${AS_CREDENTIAL}`,
    });
  return issues;
}

function issuesOfSession(
  { upstreamUrl, serviceName, agentId, headerTemplates = {} }: ProxySettings,
  { ownOrigin }: UpstreamRules,
): ArgumentIssue[] {
  const issues: ArgumentIssue[] = [];
  if (agentId === undefined)
    issues.push({ path: 'agentId', message: 'is missing: whom the session acts as' });
  if (serviceName !== undefined)
    issues.push({
      path: 'serviceName',
      message: 'is for upstreamAuthType Token: no credential is injected here',
    });
  for (const [name, template] of Object.entries(headerTemplates))
    if (markersIn(template) > 0)
      issues.push({
        path: `headerTemplates.${name}`,
        message: 'has a marker, but no credential is injected here',
      });
  for (const name of secretsInTemplates(headerTemplates))
    issues.push({
      path: `headerTemplates.${name}`,
      message: `is no header for a text: ${AS_CREDENTIAL}, with upstreamAuthType Token`,
    });
  // This service would accept the session's tokens itself.
  if (URL.canParse(upstreamUrl) && new URL(upstreamUrl).origin === ownOrigin)
    issues.push({ path: 'upstreamUrl', message: 'is this service itself' });
  return issues;
}
