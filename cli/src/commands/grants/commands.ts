import { Command, Option } from 'commander';
import { type Action, examples } from '../declare.ts';

/** The option of commands that make grants: when they end. */
export const FOR_HOW_LONG = [
  '--expires <duration>',
  'for how long, from 1h to 30d, or never (default: until it is revoked)',
] as const;

/** The option of commands that make grants: who refreshes the credential. */
export const REFRESH_POLICY = new Option(
  '--refresh-policy <policy>',
  'auto: the agent gets no refresh token, and the control plane refreshes it (default: none)',
).choices(['none', 'auto']);

/** `grants` and all below it. */
export function grantsCommand(action: Action): Command {
  const grants = new Command('grants')
    .alias('gr')
    .summary('grants: which agent may have which credential')
    .description(
      'Grants: which agent may have which credential. A name that no credential has is refused, unless --allow-missing; whether the secret is there, the webhook alone knows.',
    );
  grants
    .command('list')
    .description('list what an agent is granted, expired grants too')
    .argument('<agent>', AGENT)
    .addHelpText(
      'after',
      examples(
        'svault grants list ci',
        'svault grants list ci --format wide',
        "svault grants list ci --json | jq -r '.[].serviceName'",
      ),
    )
    .action(action(() => import('./actions.ts'), 'listGrants'));
  grants.addCommand(addGrants(action));
  grants
    .command('rm')
    .description('revoke grants of an agent; its next request is refused')
    .argument('<agent>', AGENT)
    .argument('<service...>', SERVICES)
    .addHelpText(
      'after',
      examples(
        'svault grants rm ci github',
        'svault grants rm ci github npm',
        'svault grants list ci --format name | xargs svault grants rm ci    # all of them',
      ),
    )
    .action(action(() => import('./actions.ts'), 'removeGrants'));
  return grants;
}

/** `grants add`, and its shortcut `grant`. */
export const addGrants = (action: Action, name = 'add'): Command =>
  new Command(name)
    .description('grant an agent access to credentials')
    .argument('<agent>', AGENT)
    .argument('<service...>', SERVICES)
    .option(...FOR_HOW_LONG)
    .option('--allow-missing', 'also for names of no credential yet')
    .option('--renew', 'set when grants end that are there already; needs --expires')
    .addOption(REFRESH_POLICY)
    .addHelpText(
      'after',
      examples(
        'svault grant ci github npm',
        'svault grant ci github --expires 1d12h',
        'svault grant ci github --renew --expires 1h',
        'svault grant ci crm --refresh-policy auto',
      ),
    )
    .action(action(() => import('./actions.ts'), 'addGrants'));

const AGENT = 'name or id of the agent';
const SERVICES = 'what the credentials are called';
