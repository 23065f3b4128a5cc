import type { RequestListener } from 'node:http';
import { storeCredential } from '@svault/compose/admin-client';
import { type Pair, startPair } from '@svault/compose/pair';
import { RAISED_LIMITS } from '@svault/compose/raised-limits';
import { randomToken } from '@svault/shared';
import { tempDir } from '@svault/test-kit/temp-dir';
import type { Door } from './door.ts';
import { startPlainUpstream } from './plain-upstream.ts';

/** Both programs as processes of their own, and a proxy to an upstream in this one. */
export interface ProxiedProcesses {
  readonly pair: Pair;
  readonly door: Door;
  /** Another proxy to the same upstream, of MCP unless said otherwise. */
  anotherDoor(kind?: 'mcp' | 'http'): Promise<Door>;
  stop(): Promise<void>;
}

export async function startProxiedProcesses(answer: RequestListener): Promise<ProxiedProcesses> {
  const dir = tempDir();
  const upstream = await startPlainUpstream(answer);
  const pair = await startPair({ dir: dir.path, env: { ...RAISED_LIMITS, SV_LOG_LEVEL: 'error' } });
  const { url: upstreamUrl, origin } = upstream;
  const serviceName = 'upstream';
  const value = randomToken(24);
  await storeCredential(pair.admin, serviceName, { tokenType: 'PlainText', value, allowedHosts: [origin] });
  const settings = { upstreamUrl, upstreamAuthType: 'Token', serviceName };
  let doors = 0;
  const anotherDoor: ProxiedProcesses['anotherDoor'] = async (kind = 'mcp') => {
    const named = { ...settings, kind, name: `p${doors++}` };
    const { key } = await pair.admin.call<{ key: string }>('POST', '/api/proxies', named);
    const path = kind === 'mcp' ? '/api/proxy/mcp' : '/api/proxy/http/';
    return { url: pair.controlPlaneUrl + path, bearer: key };
  };
  return {
    pair,
    door: await anotherDoor(),
    anotherDoor,
    stop: async () => {
      await pair.stop();
      await upstream.close();
      dir.remove();
    },
  };
}
