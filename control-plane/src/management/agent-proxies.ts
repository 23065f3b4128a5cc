import type { MasterKeys } from '@svault/server-kit/master-keys';
import type { Id } from '@svault/shared';
import type { NewAuditEvent } from '../core/audit-event.ts';
import type { Origin } from '../core/origin.ts';
import { PROXY_PATHS, type Proxy } from '../core/proxy.ts';
import type { UnitOfWork } from '../core/stores.ts';
import { revealStoredKey } from './stored-keys.ts';

/** A proxy as its agent sees it. */
export interface ProxyOfAgent extends Pick<Proxy, 'name' | 'kind' | 'upstreamUrl' | 'serviceName'> {
  /** Its URL at the control plane. */
  readonly address: string;
  readonly key: string;
}

/** The active proxies of an agent with their keys, oldest first. Each key that is returned is an event. */
export type ReadAgentProxies = (
  agent: { readonly vaultId: Id<'vlt'>; readonly agentId: Id<'agt'> },
  origin: Origin,
) => Promise<readonly ProxyOfAgent[]>;

export function createReadAgentProxies(options: {
  readonly unitOfWork: UnitOfWork;
  readonly masterKeys: MasterKeys;
  readonly baseUrl: string;
}): ReadAgentProxies {
  const { unitOfWork, masterKeys, baseUrl } = options;
  return ({ vaultId, agentId }, origin) =>
    unitOfWork.run(vaultId, async ({ agents, audit, proxies }) => {
      // Suspended since it was admitted.
      if ((await agents.get(vaultId, agentId))?.status !== 'active') return [];
      const own = await proxies.ofAgent(vaultId, agentId);
      const event = { vaultId, agentId, eventType: 'KEY_REVEALED', outcome: 'success', origin } as const;
      await audit.appendAll(
        own.map(({ id: proxyId, serviceName }): NewAuditEvent => ({ ...event, proxyId, serviceName })),
      );
      return own.map(({ id, name, kind, upstreamUrl, serviceName, keyWrapped }) => ({
        ...{ name, kind, address: baseUrl + PROXY_PATHS[kind], upstreamUrl, serviceName },
        key: revealStoredKey(id, keyWrapped, masterKeys),
      }));
    });
}
