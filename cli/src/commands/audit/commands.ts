import type { Command } from 'commander';
import { type Action, nounCommand } from '../declare.ts';

/** `audit` and all below it. */
export const auditCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'audit',
    summary: 'audit: what happened, and the proof that the log was not changed',
    description: 'Audit: every access, denial and change, as a chain of hashes.',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list what happened, newest first; with --follow, what happens, as it happens',
        options: [
          ['--agent <agent>', 'only of this agent, by its name or id'],
          ['--service <service>', 'only about this credential'],
          ['--proxy <proxy>', 'only of this proxy, by its name or id'],
          ['--type <type>', 'only events of this type, such as AGENT_CREDENTIAL_ACCESS'],
          ['--outcome <outcome>', 'only success, denied, rate_limited or error'],
          ['--channel <channel>', 'only requests that came by rest, mcp, proxy, cli or console'],
          ['--address <address>', 'only requests from this address'],
          ['--request <id>', 'only this request, by the id in its response and in its error (req_…)'],
          ['--from <time>', 'only from then on: 2026-11-20T12:00:00Z, or how long ago: 90m, 24h, 7d'],
          ['--to <time>', 'only before then'],
          ['--limit <count>', 'how many (default: 50)'],
          ['-f, --follow', 'print new events as they happen, until Ctrl-C; as JSON, one per line'],
        ],
        examples: [
          'svault audit --agent ci --from 24h',
          'svault audit --service github --type AGENT_CREDENTIAL_ACCESS --limit 200',
          'svault audit --address 203.0.113.7 --format wide',
          'svault audit --follow --json | jq .eventType',
        ],
        isDefault: true,
        run: 'listEvents',
      },
      show: {
        says: 'show one event, with all that the log has of it',
        operands: { '<number>': 'its number, as svault audit --format wide and the console show it' },
        examples: [
          'svault audit show 1041',
          'svault audit show 1041 --json | jq .detail    # why it was denied',
          'svault audit list --outcome denied --format wide    # the numbers of denials',
        ],
        run: 'showEvent',
      },
      verify: {
        says: 'follow the chain of hashes; exit 8 where the log was changed',
        examples: [
          'svault audit verify',
          'svault audit verify --json | jq .head    # to keep elsewhere, and compare',
          'svault audit verify || svault webhook status',
        ],
        run: 'verifyLog',
      },
    },
  });
