import type { Command } from 'commander';
import { type Action, nounCommand } from '../declare.ts';

/** `account` and all below it. */
export const accountCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'account',
    summary: 'account: how it is doing, and a copy of it',
    description: 'Account: how it is doing, a copy of everything that is kept of it, and your password.',
    load: async () => ({
      ...(await import('./actions.ts')),
      ...(await import('./activity.ts')),
      ...(await import('./attention.ts')),
    }),
    commands: {
      overview: {
        says: 'show the account in numbers',
        examples: [
          'svault account overview',
          'svault account overview --json | jq .webhook',
          'svault account overview --context work',
        ],
        run: 'showOverview',
      },
      activity: {
        says: 'show how many requests for credentials there were over time, by outcome',
        options: [
          ['--agent <agent>', 'only of this agent, by its name or id'],
          ['--bucket <bucket>', 'per minute (at most 180), hour (168) or day (90); default: hour'],
          ['--from <time>', 'from then on: 2026-11-20T12:00:00Z, or how long ago: 90m, 24h, 7d'],
          ['--to <time>', 'up to then (default: now)'],
        ],
        examples: [
          'svault account activity',
          'svault account activity --bucket day --from 30d --agent ci',
          'svault account activity --json | jq .buckets',
        ],
        run: 'showActivity',
      },
      'active-agents': {
        says: 'show the agents with the most requests for credentials, by outcome',
        options: [
          ['--hours <count>', 'in the present hour and those before it (default and at most: 24)'],
          ['--limit <count>', 'how many agents (default: 10, at most 100)'],
        ],
        examples: [
          'svault account active-agents',
          'svault account active-agents --hours 1 --limit 3',
          'svault account active-agents --json | jq .items',
        ],
        run: 'showActiveAgents',
      },
      attention: {
        says: 'list what needs attention and you have not dismissed: outages, lockouts, what expires or failed',
        options: [['--all', 'what you have dismissed too']],
        examples: [
          'svault account attention',
          'svault account attention --all --format wide',
          'svault account attention --format name | xargs svault account dismiss',
        ],
        run: 'showAttention',
      },
      dismiss: {
        says: 'list something that needs attention no more for you, until it occurs anew',
        operands: { '[id...]': 'an id of `svault account attention --format name`' },
        options: [['--all', 'everything that needs attention now']],
        examples: [
          'svault account dismiss --all',
          'svault account dismiss vault_locked',
          'svault account attention --all    # what was dismissed too',
        ],
        run: 'dismissAttention',
      },
      export: {
        says: 'print everything that the control plane keeps of the account as JSON, but no key and no event of the log (admin)',
        options: [['--to <file>', 'write it to a new file, which you alone can read']],
        examples: [
          'svault account export --to account.json',
          'svault account export | jq .agents',
          'svault account export | age -r age1example > account.json.age',
        ],
        run: 'exportAccount',
      },
      password: {
        says: 'set your password, and end your other sessions; asks for the present one and the new one',
        examples: [
          'svault account password',
          'svault account password --context work',
          'svault sessions list    # the sessions that this ends',
        ],
        run: 'setPassword',
      },
    },
  });
