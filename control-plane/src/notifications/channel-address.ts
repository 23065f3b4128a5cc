import type { MasterKeys } from '@svault/server-kit/master-keys';
import { fromBase64url, toBase64url, utf8 } from '@svault/shared';
import type { ChannelType, NotificationChannel, StoredChannel } from '../core/notification.ts';

/** A browser's `PushSubscription` (Push API, section 8). */
export interface PushSubscription {
  readonly endpoint: string;
  /** base64url: the browser's P-256 point and 16 bytes (RFC 8291). */
  readonly p256dh: string;
  readonly auth: string;
}

/** Where a channel's messages go, with what only the receiver knows as well. */
export interface ChannelAddresses {
  /** `secret`: base64url of 32 bytes. */
  readonly webhook: { readonly url: string; readonly secret: string };
  readonly slack: { readonly url: string };
  readonly email: { readonly address: string };
  readonly push: PushSubscription;
}

type Bound = Pick<NotificationChannel, 'id' | 'type' | 'vaultId'>;

/** An address that is copied into another channel's row does not unwrap there. */
const purposeOf = ({ vaultId, id, type }: Bound): string =>
  `notification-channel:${JSON.stringify([vaultId, id, type])}`;

export const wrapAddress = <Type extends ChannelType>(
  channel: Bound & { readonly type: Type },
  address: ChannelAddresses[Type],
  masterKeys: MasterKeys,
): string => toBase64url(masterKeys.wrap(utf8(JSON.stringify(address)), purposeOf(channel)));

/** @throws AeadFailed for one that was wrapped under another key or for another channel */
export function openAddress<Type extends ChannelType>(
  channel: StoredChannel & { readonly type: Type },
  masterKeys: MasterKeys,
): ChannelAddresses[Type] {
  const wrapped = fromBase64url(channel.addressWrapped);
  if (wrapped === undefined) throw new TypeError(`the wrapped address of ${channel.id} is no base64url`);
  const opened = Buffer.from(masterKeys.unwrap(wrapped, purposeOf(channel)));
  return JSON.parse(opened.toString('utf8')) as ChannelAddresses[Type];
}
