import type { Id } from '@svault/shared';
import type { Approval } from './approval.ts';
import type { Page, PageRequest } from './paging.ts';

/** `push`: a browser of one person. */
export const CHANNEL_TYPES = ['webhook', 'slack', 'email', 'push'] as const;
export type ChannelType = (typeof CHANNEL_TYPES)[number];

/** Where people are told that something waits for their decision. */
export interface NotificationChannel {
  readonly id: Id<'nch'>;
  readonly vaultId: Id<'vlt'>;
  readonly type: ChannelType;
  readonly name: string;
  /** By which people know it: never the secret part of an address. */
  readonly target: string;
  /** Whose browser it is, of `push`. */
  readonly userId: Id<'usr'> | undefined;
  readonly createdAt: string;
  readonly lastDeliveredAt: string | undefined;
  readonly lastFailedAt: string | undefined;
  /** Why; in words of this program, never the receiver's. */
  readonly lastError: string | undefined;
}

export interface StoredChannel extends NotificationChannel {
  /** base64url of its address and secret under the data encryption key. */
  readonly addressWrapped: string;
}

/** A message to one channel about one approval. Its text is made as it is sent. */
export interface Notification {
  readonly vaultId: Id<'vlt'>;
  readonly channelId: Id<'nch'>;
  readonly approvalId: Id<'apr'>;
  readonly dueAt: string;
  readonly tries: number;
  /** In place of this one and all after it of the hour: that more waits. */
  readonly isSummary: 0 | 1;
}

/** Of one account, browsers aside. */
export const MAX_CHANNELS = 20;
export const MAX_BROWSERS = { ofUser: 5, ofAccount: 100 } as const;
/** To one channel; the next is a summary, and those after it are dropped. */
export const MAX_MESSAGES_AN_HOUR = 60;

export interface NotificationStore {
  add(channel: StoredChannel): Promise<void>;
  get(vaultId: Id<'vlt'>, id: string): Promise<StoredChannel | undefined>;
  /** Oldest first. @param userId only the browsers of this person */
  list(
    vaultId: Id<'vlt'>,
    userId: Id<'usr'> | undefined,
    page: PageRequest,
  ): Promise<Page<NotificationChannel>>;
  /** Stops counting at `atMost`. */
  count(vaultId: Id<'vlt'>, of: 'browsers' | 'others', atMost: number): Promise<number>;
  /** Oldest first. */
  browsersOf(vaultId: Id<'vlt'>, userId: Id<'usr'>): Promise<readonly StoredChannel[]>;
  /** With its messages. */
  remove(channel: Pick<NotificationChannel, 'vaultId' | 'id'>): Promise<void>;
  /** The same for each browser of a person. */
  removeOfUser(vaultId: Id<'vlt'>, userId: Id<'usr'>): Promise<void>;
  noteDelivered(channel: Pick<NotificationChannel, 'vaultId' | 'id'>, at: string): Promise<void>;
  noteFailed(channel: Pick<NotificationChannel, 'vaultId' | 'id'>, at: string, error: string): Promise<void>;
  /** Counts a message, atomically. @returns which one of its hour it is, from 1 on */
  countMessage(
    channel: Pick<NotificationChannel, 'vaultId' | 'id'>,
    at: { readonly now: string; readonly hourAgo: string },
  ): Promise<number>;

  /** Puts a message to each channel of the account, unless very many wait for one. */
  enqueue(approval: Pick<Approval, 'id' | 'vaultId' | 'askedAt'>): Promise<void>;
  /** In the order of `dueAt`. @param but those of these accounts and channels */
  due(
    now: string,
    but: { readonly vaultIds: readonly Id<'vlt'>[]; readonly channelIds: readonly Id<'nch'>[] },
    limit: number,
  ): Promise<readonly Notification[]>;
  /** Of several processes, one gets a try. @returns false where another has it */
  claim(notification: Notification, nextDueAt: string): Promise<boolean>;
  makeSummary(notification: Notification): Promise<void>;
  /** Removes it: delivered, or given up. */
  settle(notification: Notification): Promise<void>;
}
