import type { Logger } from '@svault/server-kit/logger';
import { type Clock, type Id, formatTime } from '@svault/shared';
import { type Approval, statusOf } from '../core/approval.ts';
import { MAX_MESSAGES_AN_HOUR, type Notification, type StoredChannel } from '../core/notification.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { type Message, noticeOf } from './message.ts';
import type { MessageSender } from './send-message.ts';

/** Between the tries of a message: at once, then 10 s, a minute and five minutes after it was asked for. */
const PAUSES_MS = [10_000, 50_000, 240_000] as const;
const HOUR_MS = 3_600_000;
/** At once: to one channel, one. So no slow receiver holds those of another channel or account. */
const MAX_AT_ONCE = { ofAccount: 4, ofAll: 32 } as const;

export interface NotificationDelivery {
  /** Starts what is due, and waits for none of it. */
  run(): Promise<void>;
  /** Gives up what is under way, which is tried again after the next start. */
  stop(): Promise<void>;
}

/**
 * The background job that delivers messages, at least once each. A message that waits for an approval which has ended is
 * dropped.
 */
export function createNotificationDelivery(options: {
  readonly stores: Pick<Stores, 'approvals' | 'names' | 'notifications'>;
  readonly unitOfWork: UnitOfWork;
  readonly messages: Pick<MessageSender, 'send'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly baseUrl: string;
}): NotificationDelivery {
  const { stores, unitOfWork, messages, clock, logger, baseUrl } = options;
  const { notifications } = stores;
  const ending = new AbortController();
  const underWay = new Map<Id<'nch'>, { readonly vaultId: Id<'vlt'>; readonly done: Promise<void> }>();

  /** @returns undefined where the hour's messages are spent */
  const messageFor = async (
    notification: Notification,
    channel: StoredChannel,
    approval: Approval,
  ): Promise<Message | undefined> => {
    const summary = { type: 'more_waiting', url: `${baseUrl}/approvals` } as const;
    if (notification.isSummary === 1) return summary;
    if (notification.tries === 0) {
      const number = await countMessage(notifications, channel, clock);
      if (number > MAX_MESSAGES_AN_HOUR + 1) return undefined;
      if (number > MAX_MESSAGES_AN_HOUR) {
        await notifications.makeSummary(notification);
        return summary;
      }
    }
    const { vaultId, callerId } = approval;
    const name = (await stores.names.of(vaultId, [callerId])).get(callerId);
    return noticeOf(approval, name, baseUrl);
  };

  const deliver = async (notification: Notification): Promise<void> => {
    const { vaultId, channelId, approvalId, tries } = notification;
    const nowMs = clock.now();
    const channel = await notifications.get(vaultId, channelId);
    const approval = await stores.approvals.get(vaultId, approvalId);
    if (channel === undefined || approval === undefined) return notifications.settle(notification);
    if (statusOf(approval, formatTime(nowMs)) !== 'pending') return notifications.settle(notification);
    const pauseMs = PAUSES_MS[tries];
    const nextAt = pauseMs === undefined ? approval.expiresAt : formatTime(nowMs + pauseMs);
    // Before it is sent: what a killed process left is tried again, though not at once.
    if (!(await notifications.claim(notification, nextAt))) return;
    const message = await messageFor(notification, channel, approval);
    if (message === undefined) return notifications.settle(notification);
    const failure = await messages.send(channel, message, ending.signal);
    if (ending.signal.aborted) return;
    if (failure === undefined || pauseMs === undefined) await notifications.settle(notification);
    if (failure === undefined) return notifications.noteDelivered(channel, formatTime(clock.now()));
    if (failure.isGone === true && channel.type === 'push') return forget(unitOfWork, channel);
    return notifications.noteFailed(channel, formatTime(clock.now()), failure.error);
  };

  const start = (notification: Notification): void => {
    const { vaultId, channelId } = notification;
    const done = deliver(notification)
      .catch((error: unknown) => {
        if (!ending.signal.aborted) logger.error({ err: error, channelId }, 'a notification failed');
      })
      .finally(() => underWay.delete(channelId));
    underWay.set(channelId, { vaultId, done });
  };
  const isBusy = (vaultId: Id<'vlt'>): boolean =>
    countOf(underWay.values(), vaultId) >= MAX_AT_ONCE.ofAccount;

  return {
    run: async () => {
      while (underWay.size < MAX_AT_ONCE.ofAll && !ending.signal.aborted) {
        const busy = {
          vaultIds: [...new Set([...underWay.values()].map(({ vaultId }) => vaultId))].filter(isBusy),
          channelIds: [...underWay.keys()],
        };
        const due = await notifications.due(formatTime(clock.now()), busy, MAX_AT_ONCE.ofAll);
        if (due.length === 0) return;
        for (const each of due)
          if (underWay.size < MAX_AT_ONCE.ofAll && !underWay.has(each.channelId) && !isBusy(each.vaultId))
            start(each);
      }
    },
    stop: async () => {
      ending.abort();
      await Promise.all([...underWay.values()].map(({ done }) => done));
    },
  };
}

function countOf(all: Iterable<{ readonly vaultId: Id<'vlt'> }>, vaultId: Id<'vlt'>): number {
  let count = 0;
  for (const each of all) if (each.vaultId === vaultId) count += 1;
  return count;
}

/** @returns which message of its hour the channel's next one is */
export const countMessage = (
  notifications: Pick<Stores['notifications'], 'countMessage'>,
  channel: StoredChannel,
  clock: Clock,
): Promise<number> =>
  notifications.countMessage(channel, {
    now: formatTime(clock.now()),
    hourAgo: formatTime(clock.now() - HOUR_MS),
  });

/** Of a browser that has withdrawn its subscription. */
const forget = (unitOfWork: UnitOfWork, { id, vaultId, name, type }: StoredChannel): Promise<void> =>
  unitOfWork.run(vaultId, async (inside) => {
    if ((await inside.notifications.get(vaultId, id)) === undefined) return;
    await inside.notifications.remove({ vaultId, id });
    const detail = { channelId: id, name, type, reason: 'gone' };
    await inside.audit.append({ vaultId, eventType: 'NOTIFICATION_DELETED', outcome: 'success', detail });
  });
