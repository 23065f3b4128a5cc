import { type Id, newId, randomToken } from '@svault/shared';
import type { Proxy } from '../../src/core/proxy.ts';
import type { Database } from '../../src/store/database.ts';

/** A proxy of the credential `github`, of no agent. */
export async function storeProxy(
  { unitOfWork }: Database,
  vaultId: Id<'vlt'>,
  more: Partial<Proxy> = {},
): Promise<{ readonly proxy: Proxy; readonly keyHash: string }> {
  const id = newId('prx');
  const keyHash = `hash of ${id}`;
  const proxy: Proxy = {
    id,
    vaultId,
    name: `proxy ${randomToken(8)}`,
    kind: 'mcp',
    upstreamUrl: 'https://mcp.example.com/mcp',
    upstreamAuthType: 'Token',
    serviceName: 'github',
    agentId: undefined,
    headerTemplates: { authorization: 'Bearer ${TOKEN}' },
    queryTemplates: undefined,
    redirects: undefined,
    region: undefined,
    service: undefined,
    status: 'active',
    keyPrefix: 'mcp_abcd…',
    createdAt: '2026-11-20T12:00:00.000Z',
    revokedAt: undefined,
    lastUsedAt: undefined,
    revision: 3,
    deliveredAs: undefined,
    ...more,
  };
  await unitOfWork.run(vaultId, ({ proxies }) => proxies.add({ ...proxy, keyHash, keyWrapped: 'wrapped' }));
  return { proxy, keyHash };
}
