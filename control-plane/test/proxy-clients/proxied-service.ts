import { freePort } from '@svault/compose/free-port';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { storeOn } from '../support/pair-agents.ts';
import type { Door } from './door.ts';
import type { McpUpstream } from './gate.ts';

/** Both programs, where clients of this machine find them, with room for all that one test asks. */
export interface ProxiedService {
  readonly pair: TestPair;
  /** Stores the credential that an upstream wants, and makes a proxy to it. */
  doorTo(upstream: Pick<McpUpstream, 'url' | 'origin'>, credential: string): Promise<Door>;
  stop(): Promise<void>;
}

const PLENTY = '1000000';

export async function startProxiedService(): Promise<ProxiedService> {
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  const pair = await startPair({
    logLevel: 'silent',
    env: {
      SV_BASE_URL: url,
      SV_LISTEN: listen,
      SV_WEBHOOK_SERVICE_URL: url,
      SV_LIMIT_PROXY_MCP: PLENTY,
      SV_LIMIT_MCP_HANDSHAKE: PLENTY,
      SV_LIMIT_USER_AGGREGATE: PLENTY,
    },
  });
  let made = 0;
  return {
    pair,
    doorTo: async ({ url: upstreamUrl, origin }, credential) => {
      made += 1;
      const serviceName = `upstream ${made}`;
      await storeOn(pair, serviceName, { tokenType: 'PlainText', value: credential, allowedHosts: [origin] });
      const { key } = await pair.admin.call<{ key: string }>('POST', '/api/proxies', {
        name: serviceName,
        upstreamUrl,
        upstreamAuthType: 'Token',
        serviceName,
        allowMissing: true,
      });
      return { url: `${url}/api/proxy/mcp`, bearer: key };
    },
    stop: () => pair.close(),
  };
}
