import { type Clock, formatTime, fromBase64url, parseWebhookUrl, signRequest, utf8 } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import type { NotificationChannel } from '../core/notification.ts';
import type { ChannelAddresses } from './channel-address.ts';
import { type Message, PLAIN, textOf } from './message.ts';
import { type DeliveryFailure, post } from './post.ts';

/**
 * Posts a message as JSON, signed as PROTOCOL.md section 3 says (RFC 9421, HMAC-SHA256) with the channel's secret; `keyid` is
 * the channel's id.
 */
export function postSigned(
  { egress, clock }: { readonly egress: Egress; readonly clock: Clock },
  { id }: Pick<NotificationChannel, 'id'>,
  { url, secret }: ChannelAddresses['webhook'],
  message: Message,
  signal: AbortSignal,
): Promise<DeliveryFailure | undefined> {
  const address = parseWebhookUrl(url);
  const key = fromBase64url(secret);
  if (!address.ok || key === undefined) throw new TypeError(`the stored address of ${id} is none`);
  const nowMs = clock.now();
  const body = utf8(JSON.stringify({ ...message, text: textOf(message, PLAIN), sentAt: formatTime(nowMs) }));
  const headers = signRequest({
    ...{ method: 'POST', authority: address.authority, path: address.pathPrefix || '/' },
    ...{ body, key: { id, secret: key }, nowMs },
  });
  return post(egress, { channelId: id, url: address.url, headers, body, signal });
}
