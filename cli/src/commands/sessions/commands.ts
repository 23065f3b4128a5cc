import type { Command } from 'commander';
import { type Action, YES, nounCommand } from '../declare.ts';

/** `sessions` and all below it. */
export const sessionsCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'sessions',
    summary: 'sessions: who is signed in, and which MCP clients act as an agent',
    description:
      'Sessions: who is signed in, and which MCP clients act as an agent. Members see their own, admins all.',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list the sessions',
        options: [['--agent <agent>', 'only those of MCP clients that act as this agent, by its name or id']],
        examples: [
          'svault sessions list',
          'svault sessions list --agent claude',
          'svault sessions list --format wide',
          'svault sessions list --json',
        ],
        run: 'listSessions',
      },
      rm: {
        says: 'end a session: sign a person out, or take an agent from an MCP client',
        alias: 'end',
        operands: { '<session>': 'its id, or what its client called itself' },
        options: [YES],
        examples: [
          'svault sessions rm ses_3kTMd8Q2sWv0bXh1pZ9aRg',
          'svault sessions end ses_3kTMd8Q2sWv0bXh1pZ9aRg --yes',
          'svault sessions list    # the ids',
        ],
        run: 'removeSession',
      },
    },
  });
