import { randomToken } from '@svault/shared';
import { type ProxiedService, startProxiedService } from './proxied-service.ts';
import { startUpstreamV1 } from './upstream-v1.ts';
import { startUpstreamV2 } from './upstream-v2.ts';
import type { McpUpstream } from './gate.ts';

/** A service and all upstreams of this folder; each wants the same credential. */
export interface Upstreams {
  readonly service: ProxiedService;
  readonly credential: string;
  readonly v1: McpUpstream;
  readonly v2: McpUpstream;
  stop(): Promise<void>;
}

export async function startUpstreams(): Promise<Upstreams> {
  const credential = randomToken(24);
  const [service, v1, v2] = await Promise.all([
    startProxiedService(),
    startUpstreamV1(credential),
    startUpstreamV2(credential),
  ]);
  return {
    service,
    credential,
    v1,
    v2,
    stop: async () => {
      await service.stop();
      await Promise.all([v1, v2].map((upstream) => upstream.close()));
    },
  };
}
