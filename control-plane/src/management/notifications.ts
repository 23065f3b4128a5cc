import { ECDH } from 'node:crypto';
import type { MasterKeys } from '@svault/server-kit/master-keys';
import {
  type Clock,
  formatTime,
  fromBase64url,
  newTimeOrderedId,
  parseWebhookUrl,
  randomToken,
} from '@svault/shared';
import type { Actor } from '../core/actor.ts';
import { recordChange } from '../core/change.ts';
import { ApiError, invalidArgument, orNotFound } from '../core/errors.ts';
import {
  type ChannelType,
  MAX_BROWSERS,
  MAX_CHANNELS,
  MAX_MESSAGES_AN_HOUR,
  type NotificationChannel,
  type StoredChannel,
} from '../core/notification.ts';
import type { Change, Stores } from '../core/stores.ts';
import {
  type ChannelAddresses,
  type PushSubscription,
  openAddress,
  wrapAddress,
} from '../notifications/channel-address.ts';
import { countMessage } from '../notifications/delivery.ts';
import { DELIVERY_TIMEOUT_MS } from '../notifications/post.ts';
import type { MessageSender } from '../notifications/send-message.ts';
import type { TokenUrlRule } from './providers.ts';

/** As a request names it. */
export interface GivenChannel {
  readonly type: ChannelType;
  readonly name: string;
  readonly url?: string | undefined;
  readonly address?: string | undefined;
  readonly subscription?: PushSubscription | undefined;
}

type CheckedAddress = {
  readonly [Type in ChannelType]: {
    readonly type: Type;
    readonly address: ChannelAddresses[Type];
    /** By which people know it. */
    readonly target: string;
  };
}[ChannelType];

/** The member that has the address of a type. */
const ADDRESS_MEMBER = { webhook: 'url', slack: 'url', email: 'address', push: 'subscription' } as const;

/**
 * @param rules.problemOfUrl for addresses that are not a browser's, which is always https
 * @param rules.types those that this installation can send to
 * @throws ApiError INVALID_ARGUMENT
 */
export function checkAddress(
  given: GivenChannel,
  rules: { readonly problemOfUrl: TokenUrlRule; readonly types: readonly ChannelType[] },
): CheckedAddress {
  const { type, url, address, subscription } = given;
  if (!rules.types.includes(type))
    throw rejected(
      'type',
      'needs a mail server: the operator of the service sets SV_SMTP_URL and SV_SMTP_FROM',
    );
  const member = ADDRESS_MEMBER[type];
  const foreign = (['url', 'address', 'subscription'] as const).find(
    (each) => each !== member && given[each] !== undefined,
  );
  if (foreign !== undefined) throw rejected(foreign, `is not for ${type}`);
  if (url !== undefined && (type === 'webhook' || type === 'slack'))
    return checkUrl(type, url, rules.problemOfUrl);
  if (address !== undefined && type === 'email') return { type, address: { address }, target: address };
  if (subscription !== undefined && type === 'push') return checkSubscription(subscription);
  throw rejected(member, `is what ${type} needs`);
}

function checkUrl(type: 'slack' | 'webhook', url: string, problemOf: TokenUrlRule): CheckedAddress {
  const problem = problemOf(url);
  if (problem !== undefined) throw rejected('url', problem);
  if (type === 'slack') return { type, address: { url }, target: `${new URL(url).origin}/…` };
  const signed = parseWebhookUrl(url);
  if (!signed.ok)
    throw rejected(
      'url',
      `cannot be signed for (${signed.reason}): it is a host and a path of A-Z a-z 0-9 . _ ~ - /`,
    );
  return { type, address: { url: signed.url, secret: randomToken(32) }, target: signed.url };
}

function checkSubscription(subscription: PushSubscription): CheckedAddress {
  const { endpoint, p256dh, auth } = subscription;
  const url = new URL(endpoint);
  if (url.protocol !== 'https:') throw rejected('subscription.endpoint', 'must start with https://');
  if (!isPoint(p256dh)) throw rejected('subscription.keys.p256dh', 'is no point of P-256 in base64url');
  if (fromBase64url(auth)?.length !== 16)
    throw rejected('subscription.keys.auth', 'must be 16 bytes in base64url');
  return { type: 'push', address: { endpoint, p256dh, auth }, target: `${url.origin}/…` };
}

/** Uncompressed, as RFC 8291 section 3.2 has it. */
function isPoint(text: string): boolean {
  const bytes = fromBase64url(text);
  if (bytes?.length !== 65) return false;
  try {
    ECDH.convertKey(bytes, 'prime256v1');
    return true;
  } catch {
    return false;
  }
}

const rejected = (path: string, message: string): ApiError => invalidArgument([{ path, message }]);

/**
 * Makes a channel. A browser that is given again replaces what it was, and a person's sixth browser the first.
 *
 * @returns `secret`, which verifies the signatures of a `webhook`, and is shown at no other time
 * @throws ApiError FORBIDDEN for a member, unless it is their browser; CONFLICT where there are as many as may be
 */
export async function createChannel(
  change: Change,
  name: string,
  checked: CheckedAddress,
  { masterKeys, clock }: { readonly masterKeys: MasterKeys; readonly clock: Clock },
): Promise<{ readonly channel: NotificationChannel; readonly secret: string | undefined }> {
  const { vaultId, userId, role } = change.actor;
  const { type, target } = checked;
  if (type === 'push') await makeRoomForBrowser(change, checked.address, masterKeys);
  else if (role !== 'admin')
    throw new ApiError('FORBIDDEN', 'Only an admin makes a channel that is not a browser.');
  else if ((await change.notifications.count(vaultId, 'others', MAX_CHANNELS)) >= MAX_CHANNELS)
    throw tooMany(`An account has at most ${MAX_CHANNELS} channels`);
  const nowMs = clock.now();
  const channel: NotificationChannel = {
    ...{ id: newTimeOrderedId('nch', nowMs), vaultId, type, name, target },
    userId: type === 'push' ? userId : undefined,
    createdAt: formatTime(nowMs),
    ...{ lastDeliveredAt: undefined, lastFailedAt: undefined, lastError: undefined },
  };
  const addressWrapped = wrapAddress({ ...channel, type }, checked.address, masterKeys);
  await change.notifications.add({ ...channel, addressWrapped });
  await recordChange(change, 'NOTIFICATION_CREATED', {
    detail: { channelId: channel.id, name, type, target },
  });
  return { channel, secret: type === 'webhook' ? checked.address.secret : undefined };
}

async function makeRoomForBrowser(
  change: Change,
  { endpoint }: PushSubscription,
  masterKeys: MasterKeys,
): Promise<void> {
  const { vaultId, userId } = change.actor;
  const others: StoredChannel[] = [];
  for (const browser of await change.notifications.browsersOf(vaultId, userId)) {
    const isSame = openAddress({ ...browser, type: 'push' }, masterKeys).endpoint === endpoint;
    if (isSame) await removeChannel(change, browser);
    else others.push(browser);
  }
  const [first] = others;
  if (first !== undefined && others.length >= MAX_BROWSERS.ofUser) await removeChannel(change, first);
  const { ofAccount } = MAX_BROWSERS;
  if ((await change.notifications.count(vaultId, 'browsers', ofAccount)) >= ofAccount)
    throw tooMany(`An account has at most ${ofAccount} browsers`);
}

const tooMany = (what: string): ApiError => new ApiError('CONFLICT', `${what}. Delete one to make another.`);

/** A channel that the actor may see: of a member, their browsers. @throws ApiError NOT_FOUND */
async function visibleChannel(
  { notifications }: Pick<Stores, 'notifications'>,
  { vaultId, userId, role }: Pick<Actor, 'role' | 'userId' | 'vaultId'>,
  id: string,
): Promise<StoredChannel> {
  const channel = await notifications.get(vaultId, id);
  return orNotFound(role === 'admin' || channel?.userId === userId ? channel : undefined);
}

/** Deletes it with its messages. @throws ApiError NOT_FOUND */
export const deleteChannel = async (change: Change, id: string): Promise<void> =>
  removeChannel(change, await visibleChannel(change, change.actor, id));

async function removeChannel(
  change: Change,
  { vaultId, id, name, type }: Pick<NotificationChannel, 'id' | 'name' | 'type' | 'vaultId'>,
): Promise<void> {
  await change.notifications.remove({ vaultId, id });
  await recordChange(change, 'NOTIFICATION_DELETED', { detail: { channelId: id, name, type } });
}

/**
 * Sends a test message now, and notes what becomes of it.
 *
 * @returns the channel after it
 * @throws ApiError NOT_FOUND; RATE_LIMITED where its messages of the hour are spent
 */
export async function testChannel(
  stores: Pick<Stores, 'notifications'>,
  actor: Actor,
  id: string,
  options: {
    readonly messages: Pick<MessageSender, 'send'>;
    readonly clock: Clock;
    readonly baseUrl: string;
  },
): Promise<NotificationChannel> {
  const { messages, clock, baseUrl } = options;
  const { notifications } = stores;
  const channel = await visibleChannel(stores, actor, id);
  if ((await countMessage(notifications, channel, clock)) > MAX_MESSAGES_AN_HOUR)
    throw new ApiError('RATE_LIMITED', 'This channel had as many messages as it gets in an hour.', {
      details: { retryAfter: 3_600 },
    });
  const signal = AbortSignal.timeout(3 * DELIVERY_TIMEOUT_MS);
  const failure = await messages.send(channel, { type: 'test', url: `${baseUrl}/approvals` }, signal);
  const now = formatTime(clock.now());
  if (failure === undefined) await notifications.noteDelivered(channel, now);
  else await notifications.noteFailed(channel, now, failure.error);
  return visibleChannel(stores, actor, id);
}
