import { Command } from 'commander';
import { type Action, collect, examples } from '../declare.ts';

/** `run` */
export const runCommand = (action: Action): Command =>
  new Command('run')
    .summary('run a command whose HTTP calls to covered hosts get their credential added')
    .description(
      'Runs a command whose calls of HTTP APIs go through the proxies of the agent: the webhook adds the credential, and the command never has it. Calls of other hosts go straight there.',
    )
    .option(
      '--proxy <proxy>',
      'use this proxy alone; may be repeated; needed without an agent’s key',
      collect,
    )
    .option('--only', 'deny hosts that no proxy covers')
    .option(
      '--placeholder <NAME>',
      'a variable that gets a text that is no credential, for programs that do not start without one; may be repeated',
      collect,
    )
    .option('--quiet', 'no summary at the end')
    .argument('<command...>', 'what to run, and its arguments, behind --')
    .addHelpText(
      'after',
      examples(
        'svault run -- curl -sS https://api.github.com/user',
        'svault run --placeholder GH_TOKEN -- gh api user',
        'svault run --proxy github --only -- python3 agent.py',
      ),
    )
    .addHelpText(
      'after',
      `
The command gets the address of a proxy on this machine and a certificate authority that
exist until it ends (HTTPS_PROXY, SSL_CERT_FILE and their kin). It ends with the exit code of
the command, as svault exec does.`,
    )
    .action(action(() => import('./run.ts'), 'run'));
