import * as z from 'zod';
import { apiClient } from '../../api/api-client.ts';
import { nameOrId, pathOf, referred } from '../../api/resource.ts';
import { NOTIFICATION } from '../../api/resources.ts';
import { failed, usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { given } from '../../json-in.ts';
import { printDone, printSecret } from '../../output/print.ts';
import { readSecret } from '../../secret-input/read-secret.ts';
import { type PrintedResource, listing, removing } from '../resource-commands.ts';
import type { ChannelType } from './commands.ts';

const channelSchema = z.looseObject({
  id: z.string(),
  type: z.string(),
  name: z.string(),
  target: z.string(),
  userId: z.string().optional(),
  createdAt: z.string(),
  lastDeliveredAt: z.string().optional(),
  lastFailedAt: z.string().optional(),
  lastError: z.string().optional(),
});
type Channel = z.infer<typeof channelSchema>;

/** Whether its last message was not delivered. */
const hasFailed = ({ lastDeliveredAt = '', lastFailedAt = '' }: Channel): boolean =>
  lastFailedAt > lastDeliveredAt;

const CHANNELS: PrintedResource<Channel> = {
  resource: NOTIFICATION,
  schema: channelSchema,
  shape: (all) => ({
    columns: [
      { title: 'name', of: ({ name }) => name },
      { title: 'type', of: ({ type }) => type, whole: true },
      { title: 'to', of: ({ target }) => target },
      { title: 'delivered', of: ({ lastDeliveredAt }, { time }) => time(lastDeliveredAt), whole: true },
      {
        title: 'problem',
        of: (channel) => (hasFailed(channel) ? (channel.lastError ?? 'failed') : ''),
        tone: () => 'red',
      },
      { title: 'failed', of: ({ lastFailedAt }, { time }) => time(lastFailedAt), wide: true },
      { title: 'created', of: ({ createdAt }, { time }) => time(createdAt), wide: true },
      { title: 'id', of: ({ id }) => id, wide: true },
    ],
    name: nameOrId(all),
    none: 'there are no channels: svault notifications create --type webhook --name NAME --url URL',
  }),
};

/** `notifications list` */
export const listChannels = listing(CHANNELS);
/** `notifications rm CHANNEL` */
export const removeChannel = removing(NOTIFICATION, {
  question: ({ name, id }) => `Delete the channel ${name} (${id})? Nobody is told by it any more.`,
  said: ({ name, id }) => `the channel ${name} (${id}) is deleted`,
});

interface CreateOptions {
  readonly type?: ChannelType;
  readonly name?: string;
  readonly url?: string;
  readonly address?: string;
}

const madeSchema = z.looseObject({ channel: channelSchema, secret: z.string().optional() });

/** `notifications create` */
export const createChannel: Run<[], CreateOptions> = async (invocation, _, options) => {
  const { type, name, address } = options;
  if (type === undefined) throw usage('a channel needs a type: --type webhook, slack or email');
  if (name === undefined || name.trim() === '') throw usage('a channel needs a name: --name');
  if ((type === 'email') !== (address !== undefined))
    throw usage('--address is needed for email, and for nothing else');
  const client = await apiClient(invocation);
  const url = await addressOf(invocation, options, type);
  const answer = await client.change({
    method: 'POST',
    path: NOTIFICATION.path,
    body: given({ type, name, url, address }),
    secretMembers: type === 'slack' ? ['url'] : [],
    schema: madeSchema,
  });
  const said = `the channel ${name} (${answer.channel.id}) is created`;
  const { secret } = answer;
  if (secret === undefined) return printDone(invocation, { said, answer, name });
  printSecret(invocation, {
    ...{ said, answer, name },
    secret: { called: 'key', note: 'which signs its messages and is shown only once', text: secret },
  });
};

/** Anyone who has the address of a Slack channel can write there. */
function addressOf(
  invocation: Invocation,
  { url }: CreateOptions,
  type: ChannelType,
): Promise<string> | string | undefined {
  if (type === 'webhook') {
    if (url === undefined) throw usage('a webhook needs its address: --url https://…');
    return url;
  }
  if (type === 'slack')
    return readSecret(invocation, { question: 'Address of the Slack webhook', argument: url });
  if (url !== undefined) throw usage('--url is of a webhook or of slack');
  return undefined;
}

/** `notifications test CHANNEL` */
export const testChannel: Run<[string]> = async (invocation, [reference]) => {
  const client = await apiClient(invocation);
  const { id, name } = await referred(client, NOTIFICATION, reference);
  const path = `${pathOf(NOTIFICATION, id)}/test`;
  const answer = await client.change({ method: 'POST', path, schema: channelSchema });
  const said = hasFailed(answer) ? `${name} was sent a test message` : `${name} got a test message`;
  printDone(invocation, { said, answer, name: reference });
  if (hasFailed(answer)) throw failed(`it was not delivered: ${answer.lastError ?? 'no reason is known'}`);
};
