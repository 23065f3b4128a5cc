import type { Command } from 'commander';
import { type Action, nounCommand } from '../declare.ts';
import { FOR_HOW_LONG, REFRESH_POLICY } from '../grants/commands.ts';

/** `approvals` and all below it. */
export const approvalsCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'approvals',
    alias: 'apr',
    summary: 'approvals: what agents ask for that a person decides',
    description:
      'Approvals: requests that a policy or their credential holds back until a person decides, and credentials that agents ask to be granted.',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list what waits for a decision',
        options: [['--all', 'also what was decided, used or expired not long ago']],
        examples: [
          'svault approvals',
          'svault approvals list --all',
          'svault approvals list --json | jq length',
        ],
        run: 'listApprovals',
      },
      show: {
        says: 'show who asks for what, and why: the reason is the agent’s own text, which nobody checked',
        summary: 'show who asks for what, and why',
        operands: { '<approval>': APPROVAL },
        examples: [
          'svault approvals show apr_3kTMd8Q2sWv0bXh1pZ9aRg',
          'svault approvals show https://svault.example.com/approvals/apr_3kTMd8Q2sWv0bXh1pZ9aRg',
          'svault approvals show apr_3kTMd8Q2sWv0bXh1pZ9aRg --json | jq .request',
        ],
        run: 'showApproval',
      },
      approve: {
        says: 'approve a request; where an agent asks for access, grant it. What a credential holds back itself is approved with a passkey alone: on the webhook’s page, or by svault approve',
        summary: 'approve a request, or grant the access that is asked for',
        operands: { '<approval>': APPROVAL },
        options: [[FOR_HOW_LONG[0], `of access that is asked for: ${FOR_HOW_LONG[1]}`], REFRESH_POLICY],
        examples: [
          'svault approvals approve apr_3kTMd8Q2sWv0bXh1pZ9aRg',
          'svault approvals approve apr_3kTMd8Q2sWv0bXh1pZ9aRg --expires 8h    # of access',
          'svault approvals show apr_3kTMd8Q2sWv0bXh1pZ9aRg    # before that: what it is',
        ],
        run: 'approve',
      },
      deny: {
        says: 'deny a request, and the same one for ten minutes; or take back what is left of an approval',
        operands: { '<approval>': APPROVAL },
        examples: [
          'svault approvals deny apr_3kTMd8Q2sWv0bXh1pZ9aRg',
          'svault approvals list --all    # those that were approved, too',
          'svault approvals deny apr_3kTMd8Q2sWv0bXh1pZ9aRg --json | jq -r .status',
        ],
        run: 'deny',
      },
    },
  });

const APPROVAL = 'its id, or the link that leads to it';
