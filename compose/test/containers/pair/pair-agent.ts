import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { randomToken } from '@svault/shared';
import { storeCredential } from '../../../src/admin-client.ts';
import type { PairAndOutside } from './pair-and-outside.ts';

/** An agent with its own credential, at all three endpoints. */
export interface PairAgent {
  readonly serviceName: string;
  readonly secret: string;
  readonly apiKey: string;
  readonly proxyKey: string;
  /** The control plane's own answer to REST: a 307, or a refusal. */
  ask(): Promise<Response>;
  /** By REST, to the end. */
  fetchByRest(): Promise<string>;
  /** By MCP, with a client that somebody else wrote: the tool's address, then what is there. */
  fetchByMcp(): Promise<string>;
  /** A call of the upstream outside by way of the proxy. */
  callByProxy(): Promise<Response>;
}

let count = 0;

export async function pairAgent({ admin, controlPlaneUrl, outside }: PairAndOutside): Promise<PairAgent> {
  const serviceName = `service-${(count += 1)}`;
  const secret = `secret-${randomToken()}`;
  await storeCredential(admin, serviceName, {
    tokenType: 'PlainText',
    value: secret,
    allowedHosts: [outside.url],
  });
  const body = { name: serviceName, mcpEnabled: true };
  const made = await admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', body);
  const { agent, apiKey } = made;
  await admin.call('POST', `/api/agents/${agent.id}/grants`, { serviceName, expiresInSeconds: 3600 });
  const { key: proxyKey } = await admin.call<{ key: string }>('POST', '/api/proxies', {
    name: serviceName,
    upstreamUrl: `${outside.url}/mcp`,
    serviceName,
  });
  const ask = (redirect: 'manual' | 'follow'): Promise<Response> =>
    fetch(`${controlPlaneUrl}/api/agents/credentials?service=${serviceName}`, {
      headers: { authorization: `Bearer ${apiKey}` },
      redirect,
    });
  return {
    serviceName,
    secret,
    apiKey,
    proxyKey,
    ask: () => ask('manual'),
    fetchByRest: async () => accessTokenIn(await ask('follow')),
    fetchByMcp: async () => {
      const client = new Client({ name: 'somebody else’s client', version: '1.0.0' });
      const address = new URL(`${controlPlaneUrl}/api/agents/mcp`);
      const requestInit = { headers: { authorization: `Bearer ${apiKey}` } };
      await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
      try {
        const { structuredContent } = await client.callTool({
          name: 'get_credential',
          arguments: { service: serviceName },
        });
        const { credentialUrl } = structuredContent as { credentialUrl: string };
        return await accessTokenIn(await fetch(credentialUrl));
      } finally {
        await client.close();
      }
    },
    callByProxy: () =>
      fetch(`${controlPlaneUrl}/api/proxy/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${proxyKey}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
      }),
  };
}

/** @throws Error with the answer where it is no credential */
async function accessTokenIn(answer: Response): Promise<string> {
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`it answered ${answer.status}: ${text}`);
  return (JSON.parse(text) as { token: { accessToken: string } }).token.accessToken;
}
