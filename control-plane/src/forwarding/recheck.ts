import type { Id } from '@svault/shared';
import { ApiError } from '../core/errors.ts';
import type { Proxy } from '../core/proxy.ts';
import type { Stores } from '../core/stores.ts';
import { requireUnlocked } from '../core/vault.ts';
import type { WebhookUse } from './exchange.ts';

/**
 * Reads a proxy again, whose request has waited since it was decided.
 *
 * @throws ApiError VAULT_LOCKED, INVALID_KEY, AGENT_INACTIVE where that changed
 */
export async function activeProxy(
  stores: Pick<Stores, 'agents' | 'proxies' | 'vaults'>,
  { vaultId, proxyId }: { readonly vaultId: Id<'vlt'>; readonly proxyId: Id<'prx'> },
): Promise<Proxy> {
  await requireUnlocked(stores, vaultId);
  const proxy = await stores.proxies.get(vaultId, proxyId);
  if (proxy?.status !== 'active') throw new ApiError('INVALID_KEY', 'This key is not valid.');
  const { agentId } = proxy;
  if (agentId !== undefined && (await stores.agents.get(vaultId, agentId))?.status !== 'active')
    throw new ApiError('AGENT_INACTIVE', 'The agent is not active.');
  return proxy;
}

/**
 * Denies a use that has waited for the webhook where its proxy, agent, vault or webhook is not as it was decided about.
 *
 * @throws ApiError as {@link activeProxy}; WEBHOOK_NOT_CONFIGURED, or UNAVAILABLE where another webhook is bound
 */
export async function recheckUse(
  stores: Pick<Stores, 'agents' | 'proxies' | 'vaults' | 'webhookLinks'>,
  use: WebhookUse,
): Promise<void> {
  await activeProxy(stores, use);
  const link = await stores.webhookLinks.find(use.vaultId);
  if (link === undefined)
    throw new ApiError('WEBHOOK_NOT_CONFIGURED', 'No webhook is bound to this vault any more.');
  if (link.webhookId !== use.webhook.webhookId)
    throw new ApiError('UNAVAILABLE', 'The webhook was bound anew a moment ago; try again.');
}
