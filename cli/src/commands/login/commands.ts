import type { SealingCurve } from '@svault/shared/sealed';
import { Command, Option } from 'commander';
import { type Action, examples } from '../declare.ts';

/** What `@svault/shared/sealed` has, which takes longer to load than `--help` should wait; a test compares the two. */
export const SEALING_CURVES = ['P-256', 'P-384', 'X25519'] as const satisfies readonly SealingCurve[];

export const loginCommand = (action: Action): Command =>
  new Command('login')
    .description('sign in by browser; or, with a key, keep an agent’s login')
    .option('--as <name>', 'what the login is called here (default: the host of the control plane)')
    .option('--key <key>', 'key of an agent, or of an admin; - reads it from stdin')
    .addOption(
      new Option(
        '--sealing-curve <curve>',
        'of the sealing key that an agent gets here (default: P-256)',
      ).choices(SEALING_CURVES),
    )
    .option('--no-launch-browser', 'print the address and ask for the code that the page shows')
    .option(
      '--base-url <url>',
      'where the control plane is (default: SVAULT_BASE_URL, else that of the current login)',
    )
    .addHelpText(
      'after',
      examples(
        'svault login --base-url https://svault.example.com',
        'svault login --no-launch-browser                # on a machine without one',
        'svault login --as ci --key - < key.txt          # an agent’s; its sealing key is printed',
      ),
    )
    .action(action(() => import('./login.ts'), 'login'));

export const logoutCommand = (action: Action): Command =>
  new Command('logout')
    .description('end the login at the control plane and remove it from this machine')
    .addHelpText(
      'after',
      examples(
        'svault logout',
        'svault logout --context work',
        'svault context list --format name | xargs -n 1 svault logout --context    # all of them',
      ),
    )
    .action(action(() => import('./logout.ts'), 'logout'));

export const whoamiCommand = (action: Action): Command =>
  new Command('whoami')
    .alias('who')
    .description('show who you are signed in as, and where')
    .addHelpText(
      'after',
      examples('svault whoami', 'svault whoami --context work', 'svault whoami --json | jq -r .baseUrl'),
    )
    .action(action(() => import('./whoami.ts'), 'whoami'));
