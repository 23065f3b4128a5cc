import { type Command, Option } from 'commander';
import { type Action, YES, nounCommand } from '../declare.ts';

/** Types of channels that are more than a browser, which its own person adds in the console. */
const TYPES = ['webhook', 'slack', 'email'] as const;
export type ChannelType = (typeof TYPES)[number];

/** `notifications` and all below it. */
export const notificationsCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'notifications',
    summary: 'notifications: where people are told that something waits for their approval',
    description:
      'Notifications: channels by which people are told that something waits for their approval. A message has a link, and nothing can be decided by it.',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list the channels, with the last delivery of each and what went wrong; as a member, your browsers',
        summary: 'list the channels, with what became of their last messages',
        examples: [
          'svault notifications list',
          'svault notifications list --format wide',
          "svault notifications list --json | jq '.[] | select(.lastError)'",
        ],
        run: 'listChannels',
      },
      create: {
        says: 'create a channel (admin); of a webhook the key of its signatures is printed, only once',
        options: [
          new Option('--type <type>', 'what it is (needed)').choices(TYPES),
          ['--name <name>', 'what it is called (needed)'],
          [
            '--url <url>',
            'of a webhook: its address, https; that of slack is a secret, which is asked for or read',
          ],
          ['--address <address>', 'of email: who gets it'],
        ],
        examples: [
          'svault notifications create --type webhook --name ops --url https://hooks.example.com/approvals',
          'svault notifications create --type slack --name ops < slack-address.txt',
          'svault notifications create --type email --name ann --address ann@example.org',
        ],
        run: 'createChannel',
      },
      test: {
        says: 'send a test message by a channel, and say what became of it',
        operands: { '<channel>': CHANNEL },
        examples: [
          'svault notifications test ops',
          'svault notifications test ops --json | jq -r .lastError',
          'svault notifications test ops || svault notifications list',
        ],
        run: 'testChannel',
      },
      rm: {
        says: 'delete a channel, with its messages that were not delivered',
        operands: { '<channel>': CHANNEL },
        options: [YES],
        examples: [
          'svault notifications rm ops',
          'svault notifications rm ops --yes',
          'svault notifications list --format name    # what there is',
        ],
        run: 'removeChannel',
      },
    },
  });

const CHANNEL = 'its name or its id';
