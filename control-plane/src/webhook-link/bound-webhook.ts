import type { Id } from '@svault/shared';
import { refusal } from '../errors.ts';
import type { Stores } from '../unit-of-work.ts';
import type { WebhookLink } from './webhook-link.ts';

/** @throws AppError WEBHOOK_NOT_CONFIGURED where the vault has no webhook */
export async function boundWebhookOf(
  stores: Pick<Stores, 'webhookLinks'>,
  vaultId: Id<'vlt'>,
): Promise<WebhookLink> {
  const link = await stores.webhookLinks.find(vaultId);
  if (link === undefined) throw refusal('WEBHOOK_NOT_CONFIGURED', 'No webhook is bound to this vault.');
  return link;
}
