import { isServiceName, markersIn } from '@svault/shared';
import { outgoingUrlSchema } from '@svault/shared/schemas';
import type { ArgumentIssue } from '../core/errors.ts';
import type { Proxy } from '../core/proxy.ts';

/** What its owner decides of a proxy. */
export type ProxySettings = Pick<
  Proxy,
  'name' | 'upstreamUrl' | 'upstreamAuthType' | 'serviceName' | 'agentId' | 'headerTemplates'
>;

/** What is so of this service. */
export interface UpstreamRules {
  /** The operator lets some addresses through the address rules; `http:` is accepted there, and shows at the call. */
  readonly plainHttp: boolean;
  /** Scheme, host and port of our own public address. */
  readonly ownOrigin: string;
}

/** What these headers hold is a secret, so it is one that the webhook puts there (contract, "Proxy"). */
const HEADERS_OF_SECRETS = ['authorization', 'cookie', 'x-api-key', 'api-key', 'private-token'];
const NAMES_OF_SECRETS = /key|token|secret|password|sig/i;
const AS_CREDENTIAL = 'store it as a credential';

/** What keeps these settings from being a proxy's: contract "Proxy". Whether the agent is there is not looked at. */
export function issuesOfSettings(settings: ProxySettings, rules: UpstreamRules): readonly ArgumentIssue[] {
  return [
    ...issuesOfUpstream(settings, rules),
    ...(settings.upstreamAuthType === 'Token' ? issuesOfToken(settings) : issuesOfSession(settings, rules)),
  ];
}

function issuesOfUpstream({ upstreamUrl }: ProxySettings, { plainHttp }: UpstreamRules): ArgumentIssue[] {
  const issue = (message: string): ArgumentIssue => ({ path: 'upstreamUrl', message });
  if (!/^https?:\/\//i.test(upstreamUrl) || !URL.canParse(upstreamUrl))
    return [issue('must be a web address')];
  const url = new URL(upstreamUrl);
  const isPlain = url.protocol === 'http:' && !plainHttp;
  const named = [...url.searchParams.keys()].some((name) => NAMES_OF_SECRETS.test(name));
  const issues = [
    ...(url.username !== '' || url.password !== ''
      ? [`must have no user name or password: ${AS_CREDENTIAL}`]
      : []),
    ...(named ? [`must have no query member that is named like a secret: ${AS_CREDENTIAL}`] : []),
    ...(isPlain ? ['must start with https://'] : []),
  ];
  // Last, for it says less: fragments, white space, and addresses that are read in two ways.
  if (issues.length === 0 && !outgoingUrlSchema.safeParse(upstreamUrl).success)
    issues.push('must be an address without fragment, white space and backslashes');
  return issues.map(issue);
}

function issuesOfToken({ serviceName, headerTemplates = {} }: ProxySettings): ArgumentIssue[] {
  const bare = Object.entries(headerTemplates).filter(
    ([name, template]) => HEADERS_OF_SECRETS.includes(name.toLowerCase()) && markersIn(template) === 0,
  );
  return [
    ...(serviceName === undefined
      ? [{ path: 'serviceName', message: 'is missing: the name of the credential to be injected' }]
      : isServiceName(serviceName)
        ? []
        : [{ path: 'serviceName', message: 'is no service name' }]),
    ...bare.map(([name]) => ({
      path: `headerTemplates.${name}`,
      message: `must contain \${TOKEN} or $<TOKEN>: if it is a secret, ${AS_CREDENTIAL}`,
    })),
  ];
}

function issuesOfSession(
  { upstreamUrl, serviceName, agentId, headerTemplates = {} }: ProxySettings,
  { ownOrigin }: UpstreamRules,
): ArgumentIssue[] {
  const templates = Object.entries(headerTemplates);
  const marked = templates.filter(([, template]) => markersIn(template) > 0);
  const ours = templates.filter(
    ([name, template]) => HEADERS_OF_SECRETS.includes(name.toLowerCase()) && markersIn(template) === 0,
  );
  return [
    ...(agentId === undefined ? [{ path: 'agentId', message: 'is missing: whom the session acts as' }] : []),
    ...(serviceName === undefined
      ? []
      : [{ path: 'serviceName', message: 'is for upstreamAuthType Token: no credential is injected here' }]),
    ...marked.map(([name]) => ({
      path: `headerTemplates.${name}`,
      message: 'has a marker, but no credential is injected here',
    })),
    ...ours.map(([name]) => ({
      path: `headerTemplates.${name}`,
      message: `is no header for a text: ${AS_CREDENTIAL}, with upstreamAuthType Token`,
    })),
    // Its tokens would be good at our own doors (reliability.md R33).
    ...(URL.canParse(upstreamUrl) && new URL(upstreamUrl).origin === ownOrigin
      ? [{ path: 'upstreamUrl', message: 'is this service itself' }]
      : []),
  ];
}
