import type { MasterKeys } from '@svault/server-kit/master-keys';
import { type Clock, utf8 } from '@svault/shared';
import type { Egress } from '@svault/shared/egress';
import { type ChannelType, CHANNEL_TYPES, type StoredChannel } from '../core/notification.ts';
import { openAddress } from './channel-address.ts';
import { type SmtpSettings, createMailer } from './email.ts';
import { type Message, SLACK, textOf } from './message.ts';
import { type DeliveryFailure, post } from './post.ts';
import { createPush } from './push.ts';
import { postSigned } from './signed-webhook.ts';

/** Sends messages, to a channel of any type. */
export type MessageSender = ReturnType<typeof createMessageSender>;

/** @param options.smtp undefined: there is no mail server */
export function createMessageSender(options: {
  readonly egress: Egress;
  readonly clock: Clock;
  readonly masterKeys: MasterKeys;
  readonly baseUrl: string;
  readonly smtp: SmtpSettings | undefined;
}) {
  const { egress, masterKeys, smtp } = options;
  const mailer = smtp && createMailer(smtp);
  const push = createPush(options);

  return {
    /** Those that this installation can send to. */
    types: CHANNEL_TYPES.filter((type) => type !== 'email' || mailer !== undefined) as readonly ChannelType[],
    pushKey: push.publicKey,
    /** @returns undefined where the receiver took it */
    send: async (
      channel: StoredChannel,
      message: Message,
      signal: AbortSignal,
    ): Promise<DeliveryFailure | undefined> => {
      const { id, type } = channel;
      switch (type) {
        case 'webhook':
          return postSigned(options, channel, openAddress({ ...channel, type }, masterKeys), message, signal);
        case 'slack': {
          const { url } = openAddress({ ...channel, type }, masterKeys);
          const body = utf8(JSON.stringify({ text: textOf(message, SLACK) }));
          const headers = { 'content-type': 'application/json' };
          return post(egress, { channelId: id, url, headers, body, signal });
        }
        case 'email': {
          if (mailer === undefined) return { error: 'SV_SMTP_URL and SV_SMTP_FROM are no longer set.' };
          return mailer.send(openAddress({ ...channel, type }, masterKeys).address, message, signal);
        }
        case 'push':
          return push.send(channel, openAddress({ ...channel, type }, masterKeys), message, signal);
      }
    },
  };
}
