import type { TokenMetadata } from '@svault/shared/schemas';
import { refreshAcceptedSchema, refreshDoneSchema } from '@svault/shared/schemas';
import type { LinkedWebhook } from '../webhook/linked-webhook.ts';
import { WebhookCallFailed } from '../webhook/webhook-call-failed.ts';
import type { WebhookLink } from '../core/webhook-link.ts';
import type { RefreshReason, RefreshResult } from './refresh-result.ts';

/**
 * Tells the webhook that a token wants refreshing; it does so by itself (protocol.md section 7, `/v1/refresh-notify`).
 *
 * @throws WebhookCallFailed
 */
export async function refreshByNotice(
  webhook: Pick<LinkedWebhook, 'call'>,
  link: WebhookLink,
  { serviceName, expiryTime, provider }: TokenMetadata,
  reason: RefreshReason,
): Promise<RefreshResult> {
  const body = {
    serviceName,
    reason,
    ...(expiryTime !== undefined && { expiresAt: expiryTime }),
    ...(provider && { tokenUrl: provider.tokenUrl, clientId: provider.clientId }),
  };
  // The scheduler has pauses of its own, and other accounts to see to.
  const repeat = reason !== 'expiring';
  const answer = await webhook.call(link, { path: '/v1/refresh-notify', body, repeat });
  if (refreshAcceptedSchema.safeParse(answer.body).success) return { outcome: 'accepted' };
  const done = refreshDoneSchema.safeParse(answer.body);
  if (!done.success) throw new WebhookCallFailed('garbage', 'an answer that is none of /v1/refresh-notify');
  const { outcome, expiryTime: until } = done.data;
  if (outcome !== 'refreshed') return { outcome };
  return { outcome, ...(until !== undefined && { expiryTime: until }) };
}
