import type { Id } from '@svault/shared';
import { refusal } from '../core/errors.ts';
import type { Stores } from '../core/stores.ts';
import type { WebhookLink } from '../core/webhook-link.ts';

/**
 * The webhook that tickets may be signed for: one that has answered under its key (protocol.md 5.1).
 *
 * @throws AppError WEBHOOK_NOT_CONFIGURED where the vault has none
 */
export async function boundWebhookOf(
  stores: Pick<Stores, 'webhookLinks'>,
  vaultId: Id<'vlt'>,
): Promise<WebhookLink> {
  const link = await stores.webhookLinks.find(vaultId);
  if (link === undefined)
    throw refusal('WEBHOOK_NOT_CONFIGURED', 'No webhook is bound to this vault. Bind one first.');
  if (link.lastSeenAt === undefined)
    throw refusal('WEBHOOK_NOT_CONFIGURED', 'The webhook of this vault has not answered since it was bound.');
  return link;
}
