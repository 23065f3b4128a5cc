import { storeCredential } from '@svault/compose/admin-client';
import type { Pair } from '@svault/compose/pair';
import { randomToken } from '@svault/shared';

export const PROXY_PATH = '/api/proxy/mcp';
export const HTTP_PROXY_PATH = '/api/proxy/http';

/** What an MCP client sends. */
export const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'echo', arguments: {} },
};

/**
 * Makes a proxy for each path of the upstream, since what an agent asks for cannot choose it.
 * @param credential that they inject; any is stored unless one is given
 * @returns their keys, by path
 */
export async function makeProxies(
  { admin }: Pair,
  upstreamUrl: string,
  paths: readonly string[],
  {
    serviceName,
    body,
  }: { readonly serviceName: string; readonly body: Parameters<typeof storeCredential>[2] } = anyFor(
    upstreamUrl,
  ),
): Promise<ReadonlyMap<string, string>> {
  await storeCredential(admin, serviceName, body);
  const keys = new Map<string, string>();
  for (const path of paths) {
    const { key } = await admin.call<{ key: string }>('POST', '/api/proxies', {
      name: `${serviceName} ${path}`,
      upstreamUrl: upstreamUrl + path,
      upstreamAuthType: 'Token',
      serviceName,
    });
    keys.set(path, key);
  }
  return keys;
}

/** Any credential for an upstream. */
export const anyFor = (upstreamUrl: string, serviceName = 'bench-upstream') => ({
  serviceName,
  // A host without a scheme is one of https.
  body: { tokenType: 'PlainText', value: randomToken(), allowedHosts: [upstreamUrl.replace('https://', '')] },
});

/** Makes a proxy of an HTTP API and its credential. @param agentId that it is for @returns its key */
export async function makeHttpProxy({ admin }: Pair, upstreamUrl: string, agentId?: string): Promise<string> {
  const { serviceName, body } = anyFor(upstreamUrl, 'bench-http');
  await storeCredential(admin, serviceName, body);
  const settings = { name: serviceName, kind: 'http', upstreamUrl, upstreamAuthType: 'Token', serviceName };
  const { key } = await admin.call<{ key: string }>('POST', '/api/proxies', { ...settings, agentId });
  return key;
}
