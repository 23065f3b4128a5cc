import { type Clock, type Id, formatTime, newId } from '@svault/shared';
import type { Proxy } from '../../src/core/proxy.ts';
import type { Database } from '../../src/store/database.ts';

/** A proxy of the credential `github`, of no agent. */
export interface StoredProxy {
  readonly proxyId: Id<'prx'>;
  readonly keyHash: string;
}

export async function storeProxy(
  { unitOfWork }: Database,
  clock: Clock,
  vaultId: Id<'vlt'>,
  more: Partial<Proxy> = {},
): Promise<StoredProxy> {
  const proxyId = newId('prx');
  const keyHash = `hash of ${proxyId}`;
  await unitOfWork.run(vaultId, ({ proxies }) =>
    proxies.add({
      id: proxyId,
      vaultId,
      name: 'p',
      upstreamUrl: 'https://mcp.example.com/mcp',
      upstreamAuthType: 'Token',
      serviceName: 'github',
      agentId: undefined,
      headerTemplates: { authorization: 'Bearer ${TOKEN}' },
      status: 'active',
      keyPrefix: 'mcp_abcd…',
      createdAt: formatTime(clock.now()),
      revokedAt: undefined,
      lastUsedAt: undefined,
      revision: 3,
      deliveredAs: undefined,
      keyHash,
      keyWrapped: 'wrapped',
      ...more,
    }),
  );
  return { proxyId, keyHash };
}
