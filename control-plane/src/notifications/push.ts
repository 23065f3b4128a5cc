import { createECDH } from 'node:crypto';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, parseTime, toBase64url } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import type { NotificationChannel } from '../core/notification.ts';
import type { PushSubscription } from './channel-address.ts';
import { type Message, PLAIN, detailsOf, titleOf } from './message.ts';
import { type DeliveryFailure, post } from './post.ts';

/** For the operator of a push service, where the public address is none that they could write to (RFC 8292 section 2.1). */
const NO_CONTACT = 'mailto:svault@localhost';
/** Of messages that are about no approval. The push service drops what it could not hand over by then. */
const TTL_SECONDS = 60;

/**
 * Sends messages to browsers (RFC 8030), encrypted for them (RFC 8291) and signed with this installation's key (RFC 8292).
 * That key is derived from the data encryption key, so it is the same in each process and in a restored backup.
 */
export function createPush(options: {
  readonly egress: Egress;
  readonly clock: Clock;
  readonly masterKeys: MasterKeys;
  readonly baseUrl: string;
}) {
  const { egress, clock, masterKeys, baseUrl } = options;
  const curve = createECDH('prime256v1');
  curve.setPrivateKey(masterKeys.derive('notification push key'));
  const [publicKey, privateKey] = [
    toBase64url(curve.getPublicKey()),
    toBase64url(curve.getPrivateKey()).padStart(43, 'A'),
  ];
  const contact = baseUrl.startsWith('https:') ? baseUrl : NO_CONTACT;

  return {
    /** `applicationServerKey` of a subscription. */
    publicKey,
    send: async (
      { id }: Pick<NotificationChannel, 'id'>,
      { endpoint, p256dh, auth }: PushSubscription,
      message: Message,
      signal: AbortSignal,
    ): Promise<DeliveryFailure | undefined> => {
      // Loaded only where it is used.
      const { encrypt, getVapidHeaders } = (await import('web-push')).default;
      const tag = message.type === 'approval_requested' ? message.approvalId : message.type;
      const shown = {
        title: titleOf(message, PLAIN),
        body: detailsOf(message, PLAIN).join('\n'),
        ...{ url: message.url, tag },
      };
      const { cipherText } = encrypt(p256dh, auth, JSON.stringify(shown), 'aes128gcm');
      const { origin } = new URL(endpoint);
      const { Authorization } = getVapidHeaders(origin, contact, publicKey, privateKey, 'aes128gcm');
      const headers = {
        authorization: Authorization,
        'content-type': 'application/octet-stream',
        'content-encoding': 'aes128gcm',
        ttl: String(ttlOf(message, clock)),
        urgency: 'high',
        topic: tag,
      };
      return post(egress, { channelId: id, url: endpoint, headers, body: cipherText, signal });
    },
  };
}

function ttlOf(message: Message, clock: Clock): number {
  const endsMs = message.type === 'approval_requested' ? parseTime(message.expiresAt) : undefined;
  return endsMs === undefined ? TTL_SECONDS : Math.max(Math.ceil((endsMs - clock.now()) / 1_000), 0);
}
