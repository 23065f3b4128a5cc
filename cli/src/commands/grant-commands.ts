import { Command, Option } from 'commander';
import type { Action } from '../lazily.ts';

/** `grants` and all below it. */
export function grantsCommand(action: Action): Command {
  const grants = new Command('grants')
    .alias('gr')
    .description('grants: which agent may have which credential');
  grants
    .command('list')
    .description('list those of an agent')
    .argument('<agent>')
    .action(action(() => import('../grants/list-grants.ts')));
  grants.addCommand(addGrants(action));
  grants
    .command('rm')
    .description('revoke them; the next request is refused')
    .argument('<agent>')
    .argument('<service...>')
    .action(action(() => import('../grants/remove-grants.ts')));
  return grants;
}

/** `grants add`, and its shortcut `grant`. */
export const addGrants = (action: Action, name = 'add'): Command =>
  new Command(name)
    .description('let an agent have credentials')
    .argument('<agent>')
    .argument('<service...>')
    .option('--expires <duration>', 'for how long, such as 1h or 30d (default: until revoked)')
    .addOption(new Option('--refresh-policy <policy>').choices(['none', 'auto']))
    .action(action(() => import('../grants/add-grants.ts')));
