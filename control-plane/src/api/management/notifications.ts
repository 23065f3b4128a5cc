import { outgoingUrlSchema } from '@svault/shared/schemas';
import * as z from 'zod';
import {
  CHANNEL_TYPES,
  MAX_BROWSERS,
  MAX_CHANNELS,
  type NotificationChannel,
} from '../../core/notification.ts';
import { EMAIL_CHARACTERS, EMAIL_FORM } from '../../core/user.ts';
import { checkAddress, createChannel, deleteChannel, testChannel } from '../../management/notifications.ts';
import { createTokenUrlRule } from '../../management/providers.ts';
import type { Needs } from './dependencies.ts';
import {
  idParams,
  lineSchema,
  pageQuery,
  pageRequest,
  pageSchema,
  timeSchema,
  viewOfPage,
} from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const type = z.enum(CHANNEL_TYPES);

export const channelSchema = z
  .object({
    id: z.string().meta({ examples: ['nch_…'] }),
    type,
    name: z.string(),
    target: z.string().meta({ description: 'By which people know it; an address that is a secret is cut' }),
    userId: z.string().optional().meta({ description: 'Of push: whose browser it is' }),
    createdAt: timeSchema,
    lastDeliveredAt: timeSchema.optional(),
    lastFailedAt: timeSchema.optional(),
    lastError: z.string().optional().meta({ description: 'Why the last one that failed did' }),
  })
  .meta({ id: 'NotificationChannel' });

const newChannelSchema = z
  .strictObject({
    type,
    name: lineSchema(100),
    url: outgoingUrlSchema.optional().meta({
      description: 'Of webhook and slack, https. Of webhook without a query, since it is signed for',
      examples: ['https://hooks.example.com/approvals'],
    }),
    address: z
      .string()
      .max(EMAIL_CHARACTERS)
      .regex(EMAIL_FORM, 'must be an e-mail address')
      .optional()
      .meta({ description: 'Of email' }),
    subscription: z
      .strictObject({
        endpoint: outgoingUrlSchema,
        keys: z.strictObject({ p256dh: z.string().max(100), auth: z.string().max(100) }),
        expirationTime: z.number().nullable().optional().meta({ description: 'Of no effect' }),
      })
      .optional()
      .meta({ description: 'Of push: the PushSubscription as the browser gives it' }),
  })
  .meta({ id: 'NewNotificationChannel', description: 'Where people are told of approvals.' });

const madeChannelSchema = z.object({
  channel: channelSchema,
  secret: z.string().optional().meta({
    description: 'Of webhook: the key of its signatures, 32 bytes in base64url; shown this once',
  }),
});

const optionsSchema = z
  .object({
    types: z
      .array(type)
      .meta({ description: 'email is among them where the operator has set a mail server' }),
    pushKey: z.string().meta({ description: '`applicationServerKey` of a browser’s subscription' }),
  })
  .meta({ id: 'NotificationOptions' });

export const toChannelView = (channel: NotificationChannel): z.output<typeof channelSchema> => channel;

/** Channels by which people are told that something waits for their decision; of members, their own browsers. */
export function createNotificationRoutes({
  baseUrl,
  clock,
  egressAllow,
  masterKeys,
  messages,
  stores,
}: Needs<
  'baseUrl' | 'clock' | 'egressAllow' | 'masterKeys' | 'messages',
  'notifications'
>): ManagementRoute[] {
  const rules = { problemOfUrl: createTokenUrlRule(egressAllow), types: messages.types };
  const shared = { tag: 'Notifications', role: 'member' } as const;
  const byId = { ...shared, params: idParams('nch') } as const;
  return [
    defineRoute('POST /api/notifications', {
      ...shared,
      operation: 'createNotificationChannel',
      summary: `Make a channel, of which an account has at most ${MAX_CHANNELS}, or add one's browser, of which a person has at most ${MAX_BROWSERS.ofUser}; members only browsers`,
      body: newChannelSchema,
      response: { status: 201, schema: madeChannelSchema },
      errors: ['CONFLICT'],
      handle: async ({ body, transaction }) => {
        const { subscription: given, ...rest } = body;
        const subscription = given && { endpoint: given.endpoint, ...given.keys };
        const checked = checkAddress({ ...rest, subscription }, rules);
        const made = await transaction((inside) =>
          createChannel(inside, body.name, checked, { masterKeys, clock }),
        );
        return { channel: toChannelView(made.channel), secret: made.secret };
      },
    }),
    defineRoute('GET /api/notifications', {
      ...shared,
      operation: 'listNotificationChannels',
      summary:
        'List channels, oldest first, each with its last delivery and its last error; members see their browsers',
      query: z.strictObject(pageQuery),
      response: { status: 200, schema: pageSchema(channelSchema) },
      handle: ({ actor: { vaultId, userId, role }, query }) =>
        viewOfPage(
          stores.notifications.list(vaultId, role === 'admin' ? undefined : userId, pageRequest(query, 1)),
          toChannelView,
        ),
    }),
    defineRoute('GET /api/notifications/options', {
      ...shared,
      operation: 'getNotificationOptions',
      summary: 'What channels there can be, and what a browser subscribes with',
      response: { status: 200, schema: optionsSchema },
      handle: () => Promise.resolve({ types: [...messages.types], pushKey: messages.pushKey }),
    }),
    defineRoute('POST /api/notifications/{id}/test', {
      ...byId,
      operation: 'testNotificationChannel',
      summary: 'Send a test message, and read what became of it in the channel',
      response: { status: 200, schema: channelSchema },
      errors: ['RATE_LIMITED'],
      handle: async ({ actor, params }) =>
        toChannelView(await testChannel(stores, actor, params.id, { messages, clock, baseUrl })),
    }),
    defineRoute('DELETE /api/notifications/{id}', {
      ...byId,
      operation: 'deleteNotificationChannel',
      summary: 'Delete a channel',
      change: (inside, { params }) => deleteChannel(inside, params.id),
    }),
  ];
}
