import { shellWord } from '@svault/shared';
import type { RequestRule } from '@svault/shared/request-rules';
import {
  type ProxyConfig,
  type StoreBody,
  destinationProblem,
  proxyFailureText,
} from '@svault/shared/schemas';
import type { ApiClient } from '../../api/api-client.ts';
import { orElse } from '../../failure.ts';
import { type HeldRecord, tokenOf } from './token.ts';

/** What is known at once of a stored credential; undefined where that is nothing. */
const heldAs = (client: ApiClient, name: string): Promise<HeldRecord | undefined> =>
  client.dryRun
    ? Promise.resolve(undefined)
    : orElse(
        tokenOf(client, name).then(({ webhook }) => webhook),
        () => undefined,
      );

/** Why no call of a proxy can succeed with its credential as it is stored; undefined where nothing is known against it. */
export async function proxyWarning(
  client: ApiClient,
  proxy: {
    readonly serviceName?: string | undefined;
    readonly upstreamUrl: string;
    readonly headerTemplates?: Readonly<Record<string, string>> | undefined;
    readonly kind: string;
    readonly queryTemplates?: ProxyConfig['queryTemplates'];
    readonly upstreamAuthType?: string;
    readonly region?: string | undefined;
    readonly service?: string | undefined;
  },
): Promise<string | undefined> {
  const { serviceName, upstreamUrl, headerTemplates = {}, kind, queryTemplates } = proxy;
  const held = serviceName === undefined ? undefined : await heldAs(client, serviceName);
  if (serviceName === undefined || held === undefined) return undefined;
  const ofApi = kind === 'http' ? ({ kind, queryTemplates } as const) : {};
  const { upstreamAuthType: type, region, service } = proxy;
  const signing = type === 'aws_sigv4' ? { signing: { type, region, service } as const } : {};
  const config = { serviceName, upstreamUrl, headerTemplates, ...ofApi, ...signing };
  const problem = destinationProblem(config, held);
  return problem && `warning: each call of this proxy will fail: ${proxyFailureText(problem, config)}`;
}

/** Why an agent cannot fetch a credential that it is granted; undefined where nothing is known against it. */
export async function grantWarning(client: ApiClient, serviceName: string): Promise<string | undefined> {
  if ((await heldAs(client, serviceName))?.delivery !== 'proxy-only') return undefined;
  return `warning: ${serviceName} is proxy-only, so the agent cannot fetch it; it is used through a proxy: svault proxies create --service ${shellWord(serviceName)}`;
}

const isOfMcp = (rule: RequestRule): boolean => 'tools' in rule || 'mcp' in rule;

/** Why a credential that is stored so cannot be used at all, or not as its owner may expect. */
export function storeWarning(
  name: string,
  { delivery, allowedHosts, requests, approval }: StoreBody,
): string | undefined {
  if (allowedHosts !== undefined && allowedHosts.length > 0)
    return approval?.for.includes('proxy') === true && !requests?.some(isOfMcp)
      ? `warning: where ${name} is for an MCP server, each message needs an approval, those that open a session too, until a rule for MCP is sealed with it, such as --allow-request 'mcp * /mcp'`
      : undefined;
  const command = `svault set ${shellWord(name)} --allow-host HOST`;
  if (delivery === 'proxy-only')
    return `warning: nothing can use ${name}: it is proxy-only and has no allowed host: ${command}`;
  if (requests === undefined) return undefined;
  return `warning: the rules of ${name} have no effect: they are for proxies, and it has no allowed host: ${command}`;
}
