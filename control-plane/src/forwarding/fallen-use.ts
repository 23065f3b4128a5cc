import { refusal } from '../core/errors.ts';
import { standingProxy } from './standing-proxy.ts';
import type { Stores } from '../core/stores.ts';
import type { WebhookUse } from './forward.ts';

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
