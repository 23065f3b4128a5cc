import type { ApiClient } from '../../api/api-client.ts';
import { PROXY } from '../../api/resources.ts';
import type { Invocation } from '../../invocation.ts';
import { say } from '../../output/say.ts';
import { newProxy, proxySchema } from '../proxies/actions.ts';
import { keyOfProxy } from '../proxies/key.ts';
import { type Item, firstFree } from './known.ts';
import { type Rewritable, rewriteConfig } from './rewrite-config.ts';

/** What the control plane takes for a name. */
const MAX_NAME = 100;

/** Whether `--write` leads the place of an item to a proxy. */
export const isRewritable = (
  item: Item,
  { keepConfigs }: { readonly keepConfigs?: true },
): item is Rewritable =>
  item.server !== undefined && keepConfigs !== true && item.state !== 'taken' && item.state !== 'svault';

/** Makes a proxy for a server of an MCP configuration, and puts its address and key into the file. @throws Failure */
export async function leadToProxy(
  invocation: Invocation,
  client: ApiClient,
  item: Rewritable,
  backups: Map<string, string>,
): Promise<void> {
  const { name, key } = await proxyFor(client, item);
  // The address of the login, not one that the answer names.
  const url = `${client.login.context.baseUrl}/api/proxy/mcp`;
  const backup = await rewriteConfig(item, { url, key, backups });
  say(
    invocation,
    `${item.file}: ${item.server.path.join('.')} goes through the proxy ${name} now; before: ${backup}`,
  );
}

/** One that a run before made and did not come to use is used. */
async function proxyFor(
  client: ApiClient,
  { name: serviceName, server }: Rewritable,
): Promise<{ readonly name: string; readonly key: string }> {
  const { url: upstreamUrl, headerTemplates } = server;
  const proxies = client.dryRun ? [] : await client.readAll(PROXY.path, proxySchema);
  const active = proxies.filter(({ status }) => status === 'active');
  const unused = active.find(
    (each) =>
      each.kind === 'mcp' &&
      each.serviceName === serviceName &&
      each.upstreamUrl === upstreamUrl &&
      each.agentId === undefined,
  );
  if (unused !== undefined) return { name: unused.name, ...(await keyOfProxy(client, unused.id)) };
  const used = new Set(active.map((each) => each.name.toLowerCase()));
  const name = firstFree([serviceName.slice(0, MAX_NAME)], used);
  const { key } = await newProxy(client, { name, upstreamUrl, serviceName, headerTemplates });
  return { name, key };
}
