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
      .addHelpText(
        'after',
        `
Example:
  svault exec --with GITHUB_TOKEN=github --with DB_PASSWORD=database -- ./deploy --fast

Ends with the exit code of the command: 128 and the number of the signal that ended it, 127 where there is no such
command, 126 where it cannot be run. Nothing is started unless all credentials are there.
`,
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
