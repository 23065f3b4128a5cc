import * as z from 'zod';
import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { pathOf, referred } from '../../api/resource.ts';
import { PROXY } from '../../api/resources.ts';
import { Failure, usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { unique } from '../../one-by-one.ts';
import { listed } from '../../output/plain-line.ts';
import { keyOfProxy, proxyKeySchema } from '../proxies/key.ts';
import type { UsableProxy } from './covered-hosts.ts';

const proxySchema = z.looseObject({
  name: z.string(),
  kind: z.string(),
  address: z.string(),
  upstreamUrl: z.url({ protocol: /^https?$/ }),
  serviceName: z.string().optional(),
});
const ownSchema = z.object({ items: z.array(z.intersection(proxySchema, proxyKeySchema)) });

const CREATE = 'svault proxies create --kind http --name NAME --upstream-url URL --service SERVICE';

/**
 * The HTTP proxies that a run goes through: those of the agent that is signed in, or those that `--proxy` names.
 * @throws Failure usage if a person names none, or two have the same upstream; notFound if there is none
 */
export async function usableProxies(
  invocation: Invocation,
  named: readonly string[],
): Promise<{ readonly client: ApiClient; readonly proxies: readonly UsableProxy[] }> {
  const client = await apiClient(invocation, 'anybody');
  const proxies =
    client.login.context.kind === 'agent' ? await ofAgent(client, named) : await ofPerson(client, named);
  for (const { base, names } of sharedBases(proxies))
    throw usage(`${listed(names.toSorted())} have the same upstream, ${base}: choose one with --proxy`);
  return { client, proxies };
}

async function ofAgent(client: ApiClient, named: readonly string[]): Promise<readonly UsableProxy[]> {
  const { items } = await client.read('/api/agents/proxies', ownSchema);
  const http = items.filter(({ kind }) => kind === 'http');
  const missing = named.find((name) => !http.some((proxy) => proxy.name === name));
  if (missing !== undefined)
    throw new Failure('notFound', `this agent has no HTTP proxy ${missing}${has(http)}`);
  if (http.length === 0)
    throw new Failure(
      'notFound',
      `no HTTP proxy is for this agent, so svault run has nothing to add: an admin creates one with ${CREATE} --agent AGENT`,
    );
  return named.length === 0 ? http : http.filter(({ name }) => named.includes(name));
}

const has = (proxies: readonly UsableProxy[]): string =>
  proxies.length === 0 ? '' : `; it has ${listed(proxies.map(({ name }) => name))}`;

async function ofPerson(client: ApiClient, named: readonly string[]): Promise<readonly UsableProxy[]> {
  if (named.length === 0)
    throw usage(
      `svault run needs an agent’s key, or --proxy NAME: svault proxies list shows those there are, and ${CREATE} makes one`,
    );
  const proxies: UsableProxy[] = [];
  for (const reference of unique(named)) {
    const { id } = await referred(client, PROXY, reference);
    const proxy = await client.read(pathOf(PROXY, id), proxySchema);
    if (proxy.kind !== 'http')
      throw usage(
        `${proxy.name} is a proxy of an MCP server, and svault run goes through HTTP proxies: ${CREATE}`,
      );
    const { key } = await keyOfProxy(client, id);
    proxies.push({ ...proxy, key });
  }
  return proxies;
}

/** Bases that several proxies share, so that a request would be ambiguous. */
function sharedBases(
  proxies: readonly UsableProxy[],
): readonly { readonly base: string; readonly names: readonly string[] }[] {
  const names = new Map<string, string[]>();
  for (const { upstreamUrl, name } of proxies) {
    const base = new URL(upstreamUrl).href.replace(/\/+$/, '');
    names.set(base, [...(names.get(base) ?? []), name]);
  }
  return [...names].filter(([, all]) => all.length > 1).map(([base, all]) => ({ base, names: all }));
}
