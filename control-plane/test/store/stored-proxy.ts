import { type Clock, type Id, formatTime, newId } from '@svault/shared';
import type { ProxyPrecondition } from '../../src/audit/audit-writer.ts';
import type { Proxy } from '../../src/core/proxy.ts';
import type { Database } from '../../src/store/database.ts';

/** A proxy of the credential `github`, of no agent. */
export interface StoredProxy {
  readonly proxyId: Id<'prx'>;
  readonly keyHash: string;
  readonly onlyIf: ProxyPrecondition;
}

/** @param account with a webhook, if its proxies are to use one */
export async function storeProxy(
  { unitOfWork }: Database,
  clock: Clock,
  { vaultId, webhookId = null }: { readonly vaultId: Id<'vlt'>; readonly webhookId?: string | null },
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
  const { agentId = null } = more;
  return {
    proxyId,
    keyHash,
    onlyIf: { caller: 'proxy', keyHash, revision: 3, agentId, webhookId, policyRevision: 0, uses: [] },
  };
}
