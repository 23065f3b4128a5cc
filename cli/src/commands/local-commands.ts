import { Argument, Command } from 'commander';
import { SHELLS } from '../completion/shells.ts';
import type { Action } from '../lazily.ts';
import { collect } from './repeated-option.ts';

/** What is done on this machine. */
export function localCommands(action: Action): readonly Command[] {
  return [
    new Command('exec')
      .description('run a command with credentials in its environment, and nowhere else')
      .option(
        '--with <NAME=SERVICE>',
        'a variable and the credential that fills it; may be repeated',
        collect,
      )
      .argument('<command...>', 'behind --')
      .action(action(() => import('../exec/exec.ts'))),
    new Command('completion')
      .description('print what makes a shell complete svault’s commands')
      .addArgument(new Argument('<shell>').choices(SHELLS))
      .action(action(() => import('../completion/completion.ts'))),
    new Command('explain')
      .description('say what an error code means and what to do about it')
      .argument('[code]', 'such as TICKET_INVALID; without it, all codes')
      .action(action(() => import('../explain/explain.ts'))),
  ];
}
