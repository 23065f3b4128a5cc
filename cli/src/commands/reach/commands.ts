import { Command } from 'commander';
import { type Action, examples } from '../declare.ts';

/** `reach` */
export const reachCommand = (action: Action): Command =>
  new Command('reach')
    .summary('reach: who can reach which credential, and what decides')
    .description(
      'Reach: which agent or proxy can reach which credential, by which grant and policies, and whether a request is denied now. Without an option: all of the account.',
    )
    .option('--agent <agent>', 'what this agent and the proxies that act for it can reach, by its name or id')
    .option('--service <service>', 'who can reach this credential')
    .option('--proxy <proxy>', 'what this proxy can reach, by its name or id')
    .addHelpText(
      'after',
      examples(
        'svault reach --agent ci',
        'svault reach --service github',
        'svault reach --json | jq ".[].channels"',
      ),
    )
    .action(action(() => import('./actions.ts'), 'listReach'));
