import { type Command, Option } from 'commander';
import { type Action, NAMED, YES, nounCommand } from '../declare.ts';

/** `members` and all below it. */
export const membersCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'members',
    summary: 'members: the people of the account (admin)',
    description:
      'Members: the people of the account. Members manage agents and grants; admins also the webhook, providers, people and admin keys.',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list the people of the account',
        options: [NAMED],
        examples: [
          'svault members list',
          'svault members list --name @example.org',
          'svault members list --json | jq -r \'.[] | select(.role == "admin") | .email\'',
        ],
        run: 'listMembers',
      },
      add: {
        says: 'add a person, and print a link that signs them in once',
        operands: { '<email>': 'their address' },
        options: [ROLE],
        examples: [
          'svault members add ada@example.org',
          'svault members add ada@example.org --role admin',
          'svault members invite ada@example.org    # the link with which she signs in',
        ],
        run: 'addMember',
      },
      edit: {
        says: 'change what a person may do; who stops being an admin loses their admin keys',
        operands: { '<member>': MEMBER },
        options: [ROLE],
        examples: [
          'svault members edit ada@example.org --role admin',
          'svault members edit ada@example.org --role member',
          'svault members edit ada@example.org --role admin --json | jq -r .role',
        ],
        run: 'editMember',
      },
      invite: {
        says: 'print a new link that signs a person in once',
        operands: { '<member>': MEMBER },
        examples: [
          'svault members invite ada@example.org',
          'svault members invite ada@example.org | mail -s invitation ada@example.org',
          'svault members invite ada@example.org --json | jq -r .expiresAt',
        ],
        run: 'inviteMember',
      },
      rm: {
        says: 'remove a person, with their sessions and admin keys',
        operands: { '<member>': MEMBER },
        options: [YES],
        examples: [
          'svault members rm ada@example.org',
          'svault members rm ada@example.org --yes',
          'svault members edit ada@example.org --role member    # she stays, without admin rights',
        ],
        run: 'removeMember',
      },
    },
  });

const MEMBER = 'their address or id';
const ROLE = new Option('--role <role>', 'what they may do (default: member)').choices(['member', 'admin']);
