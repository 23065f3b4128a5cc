import { Command } from 'commander';
import { type Action, examples } from '../declare.ts';

export const useCommand = (action: Action): Command =>
  new Command('use')
    .description('choose the current login')
    .argument('<name>', LOGIN)
    .addHelpText(
      'after',
      examples(
        'svault use work',
        'svault context list    # the names to choose from',
        'svault ls --context work    # for one command only',
      ),
    )
    .action(action(() => import('./actions.ts'), 'useContext'));

/** `context` and all below it. */
export function contextCommand(action: Action): Command {
  const context = new Command('context')
    .alias('ctx')
    .summary('logins that are kept')
    .description('Contexts: logins that are kept on this machine under a name, of an admin or an agent.');
  context
    .command('list')
    .alias('ls')
    .description('list the logins that are kept')
    .addHelpText(
      'after',
      examples(
        'svault context list',
        'svault context list --format wide',
        'svault context list --format name | grep ci',
      ),
    )
    .action(action(() => import('./actions.ts'), 'listContexts'));
  context.addCommand(useCommand(action));
  context
    .command('current')
    .description('print the name of the current login')
    .addHelpText(
      'after',
      examples(
        'svault context current',
        'svault context current --json | jq -r .baseUrl',
        'svault context current || svault login --base-url https://svault.example.com',
      ),
    )
    .action(action(() => import('./actions.ts'), 'showCurrentContext'));
  context
    .command('rm')
    .description(
      'remove a login from this machine; at the control plane it stays valid until it expires (see logout)',
    )
    .argument('<name>', LOGIN)
    .addHelpText(
      'after',
      examples(
        'svault context rm work',
        'svault logout --context work    # ends it at the control plane as well',
        'svault context rm work --format name',
      ),
    )
    .action(action(() => import('./actions.ts'), 'removeContext'));
  return context;
}

const LOGIN = 'of a login that is kept; svault context list shows them';
