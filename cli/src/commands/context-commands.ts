import { Command, Option } from 'commander';
import type { Action } from '../lazily.ts';
import { SEALING_CURVES } from '../login/sealing-curves.ts';
import { examples } from './examples.ts';

/** Sign-in, and the logins that are kept. */
export function contextCommands(action: Action): readonly Command[] {
  return [login(action), logout(action), whoami(action), use(action), contexts(action)];
}

const login = (action: Action): Command =>
  new Command('login')
    .description('sign in by browser; or, with a key, keep an agent’s login')
    .option('--as <name>', 'what the login is called here (default: the host of the service)')
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
      'where the service is (default: SVAULT_BASE_URL, else that of the current login)',
    )
    .addHelpText(
      'after',
      examples(
        'svault login --base-url https://svault.example.com',
        'svault login --no-launch-browser                # on a machine without one',
        'svault login --as ci --key - < key.txt          # an agent’s; its sealing key is printed',
      ),
    )
    .action(action(() => import('../login/login.ts')));

const logout = (action: Action): Command =>
  new Command('logout')
    .description('end the login at the service and forget it here')
    .action(action(() => import('../login/logout.ts')));

const whoami = (action: Action): Command =>
  new Command('whoami')
    .alias('who')
    .description('say who acts, and where')
    .action(action(() => import('../login/whoami.ts')));

const use = (action: Action): Command =>
  new Command('use')
    .description('make a login the current one')
    .argument('<name>', LOGIN)
    .action(action(() => import('../contexts/use-context.ts')));

function contexts(action: Action): Command {
  const context = new Command('context')
    .alias('ctx')
    .summary('logins that are kept')
    .description('Contexts: logins that are kept on this machine under a name, of an admin or an agent.');
  context
    .command('list')
    .alias('ls')
    .description('list the logins that are kept')
    .action(action(() => import('../contexts/list-contexts.ts')));
  context.addCommand(use(action));
  context
    .command('current')
    .description('print the name of the current login')
    .action(action(() => import('../contexts/show-current-context.ts')));
  context
    .command('rm')
    .description('forget a login here; at the service it goes on until it ends (see logout)')
    .argument('<name>', LOGIN)
    .action(action(() => import('../contexts/remove-context.ts')));
  return context;
}

const LOGIN = 'of a login that is kept; svault context list shows them';
