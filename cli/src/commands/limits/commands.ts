import type { Command } from 'commander';
import { type Action, nounCommand } from '../declare.ts';

/** `limits` and all below it. */
export const limitsCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'limits',
    summary: 'limits: who is locked out now, and how much of each limit is used',
    description:
      'Limits: an agent or a proxy that exceeds its limit is locked out, for twice as long with each strike. A strike decays after an hour.',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list the agents and proxies that are locked out now, the longest lockouts first',
        examples: [
          'svault limits',
          'svault limits list --format wide',
          'svault limits list --json | jq length',
        ],
        isDefault: true,
        run: 'listLockouts',
      },
      usage: {
        says: 'how much of its limits the account uses now, or an agent or a proxy',
        options: [
          ['--agent <agent>', 'the limits of this agent too, by its name or id'],
          ['--proxy <proxy>', 'the limits of this proxy too, by its name or id'],
        ],
        examples: [
          'svault limits usage',
          'svault limits usage --agent ci',
          'svault limits usage --proxy npm --json',
        ],
        run: 'showUsage',
      },
    },
  });
