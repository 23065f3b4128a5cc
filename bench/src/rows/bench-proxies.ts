import { storeCredential } from '@svault/compose/admin-client';
import type { Pair } from '@svault/compose/pair';
import { randomToken } from '@svault/shared';

export const PROXY_PATH = '/api/proxy/mcp';
const SERVICE_NAME = 'bench-upstream';

/** What an MCP client sends. */
export const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'echo', arguments: {} },
};

/**
 * Makes a proxy for each path of the upstream, since what an agent asks for cannot choose it.
 * @returns their keys, by path
 */
export async function makeProxies(
  { admin }: Pair,
  upstreamUrl: string,
  paths: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  await storeCredential(admin, SERVICE_NAME, {
    tokenType: 'PlainText',
    value: randomToken(),
    allowedHosts: [upstreamUrl],
  });
  const keys = new Map<string, string>();
  for (const path of paths) {
    const { key } = await admin.call<{ key: string }>('POST', '/api/proxies', {
      name: `bench ${path}`,
      upstreamUrl: upstreamUrl + path,
      upstreamAuthType: 'Token',
      serviceName: SERVICE_NAME,
    });
    keys.set(path, key);
  }
  return keys;
}
