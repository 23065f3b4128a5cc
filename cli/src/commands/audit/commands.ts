import { type Command, Option } from 'commander';
import { type Action, collect, nounCommand } from '../declare.ts';

/** How an export is written. */
export const EXPORT_FORMATS = ['jsonl', 'ocsf', 'otlp', 'syslog'] as const;

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
      export: {
        says: 'write the log as lines, oldest first, each event verified and at least once',
        options: [
          new Option(
            '--as <form>',
            'jsonl as svault audit verify reads it, ocsf 1.8.0 or logs of otlp as JSON lines, or syslog of RFC 5424',
          )
            .choices(EXPORT_FORMATS)
            .default('jsonl'),
          ['--after <number>', 'begin behind this event; 0: with the first'],
          [
            '-f, --follow',
            'go on with each event as it happens, until Ctrl-C; breaks of the network leave no gap',
          ],
          ['--state <file>', 'note there how far it is, and go on from there: no event is lost by a kill'],
          ['--to <file>', 'append to this file instead of stdout'],
          ['--enterprise <number>', 'with syslog: structured data under your private enterprise number'],
        ],
        examples: [
          'svault audit export > audit.jsonl',
          'svault audit export --follow --state audit.state --to audit.jsonl',
          'svault audit export --as syslog --follow --state audit.state | nc logs.example.com 601',
        ],
        run: 'exportLog',
      },
      verify: {
        says: 'follow the chain of hashes, of the log or of an exported file; exit 8 where it was changed',
        operands: {
          '[file]': 'JSON lines of svault audit export, or - for stdin: verified here, without a login',
        },
        options: [
          ['--head <hash>', 'the hash that the last event of the file must have'],
          ['--previous <hash>', 'the hash before the first event of the file: the last of the file before'],
          ['--checkpoint <file>', 'a checkpoint that the file must agree with; needs --key'],
          new Option(
            '--key <vkey>',
            'a key that must have signed the checkpoint, as svault-run webhook audit checkpoint shows it; may be repeated',
          ).argParser(collect),
        ],
        examples: [
          'svault audit verify',
          'svault audit verify --json | jq .head    # to keep elsewhere, and compare',
          'svault audit verify || svault webhook status',
          'svault audit verify audit.jsonl',
          'svault audit verify audit.jsonl --checkpoint checkpoint.txt --key "$WEBHOOK_KEY"',
        ],
        run: 'verifyLog',
      },
      checkpoint: {
        says: 'print the last checkpoint of the log, a note that the control plane and the webhook signed',
        options: [['--keys', 'print the keys by which they signed it, as the control plane knows them']],
        examples: [
          'svault audit checkpoint > checkpoint.txt',
          'svault audit checkpoint --keys',
          'svault audit checkpoint --json | jq .size    # the newest event that it covers',
        ],
        run: 'showCheckpoint',
      },
      compare: {
        says: 'hold the log against the webhook’s copy and name the first difference; exit 8 where there is one',
        operands: {
          '<copy>': 'what svault-run webhook audit export wrote on the webhook’s machine',
          '[log]': 'JSON lines of svault audit export; without it, the log as it is now',
        },
        examples: [
          'svault audit compare copy.jsonl',
          'svault audit compare copy.jsonl --json | jq .notes    # what is not in both for a reason',
          'svault audit compare copy.jsonl audit.jsonl',
        ],
        run: 'compareLogs',
      },
    },
  });
