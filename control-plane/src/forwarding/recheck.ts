import type { Id } from '@svault/shared';
import { refusal } from '../core/errors.ts';
import { requireUnlocked } from '../core/vault.ts';
import type { Proxy } from '../core/proxy.ts';
import type { Stores } from '../core/stores.ts';
import type { WebhookUse } from './exchange.ts';

/**
 * A proxy whose request was let in a while ago, and waited for something since: as it is now.
 *
 * @throws AppError VAULT_LOCKED, INVALID_KEY, AGENT_INACTIVE where that changed
 */
export async function standingProxy(
  stores: Pick<Stores, 'agents' | 'proxies' | 'vaults'>,
  { vaultId, proxyId }: { readonly vaultId: Id<'vlt'>; readonly proxyId: Id<'prx'> },
): Promise<Proxy> {
  await requireUnlocked(stores, vaultId);
  const proxy = await stores.proxies.get(vaultId, proxyId);
  if (proxy?.status !== 'active') throw refusal('INVALID_KEY', 'This key is not valid.');
  const { agentId } = proxy;
  if (agentId !== undefined && (await stores.agents.get(vaultId, agentId))?.status !== 'active')
    throw refusal('AGENT_INACTIVE', 'The agent is not active.');
  return proxy;
}

/**
 * Whether a use that waited for the webhook may still go on: its proxy, its agent, the vault and the webhook itself.
 *
 * @throws AppError as `standingProxy`; WEBHOOK_NOT_CONFIGURED, or UNAVAILABLE where another one is bound by now
 */
export async function refuseFallenUse(
  stores: Pick<Stores, 'agents' | 'proxies' | 'vaults' | 'webhookLinks'>,
  use: WebhookUse,
): Promise<void> {
  await standingProxy(stores, use);
  const link = await stores.webhookLinks.find(use.vaultId);
  if (link === undefined)
    throw refusal('WEBHOOK_NOT_CONFIGURED', 'No webhook is bound to this vault any more.');
  if (link.webhookId !== use.webhook.webhookId)
    throw refusal('UNAVAILABLE', 'The webhook was bound anew a moment ago; try again.');
}
