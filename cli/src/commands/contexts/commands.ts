import { Command } from 'commander';
import { type Action, examples } from '../declare.ts';

/** `use`, and `context` with all below it. */
export const contextCommands = (action: Action): readonly Command[] => [use(action), contexts(action)];

const use = (action: Action): Command =>
  new Command('use')
    .description('make a login the current one')
    .argument('<name>', LOGIN)
    .addHelpText('after', examples('svault use work'))
    .action(action(() => import('./actions.ts'), 'useContext'));

function contexts(action: Action): Command {
  const context = new Command('context')
    .alias('ctx')
    .summary('logins that are kept')
    .description('Contexts: logins that are kept on this machine under a name, of an admin or an agent.');
  context
    .command('list')
    .alias('ls')
    .description('list the logins that are kept')
    .addHelpText('after', examples('svault context list'))
    .action(action(() => import('./actions.ts'), 'listContexts'));
  context.addCommand(use(action));
  context
    .command('current')
    .description('print the name of the current login')
    .addHelpText('after', examples('svault context current'))
    .action(action(() => import('./actions.ts'), 'showCurrentContext'));
  context
    .command('rm')
    .description('forget a login here; at the control plane it goes on until it ends (see logout)')
    .argument('<name>', LOGIN)
    .addHelpText('after', examples('svault context rm work'))
    .action(action(() => import('./actions.ts'), 'removeContext'));
  return context;
}

const LOGIN = 'of a login that is kept; svault context list shows them';
