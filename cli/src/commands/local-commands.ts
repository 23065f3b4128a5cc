import { Argument, Command } from 'commander';
import { SHELLS } from '../completion/shells.ts';
import type { Action } from '../lazily.ts';
import { examples } from './examples.ts';
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
      .argument('<command...>', 'what to run, and its arguments, behind --')
      .addHelpText(
        'after',
        examples(
          'svault exec --with GITHUB_TOKEN=github -- gh repo list',
          'svault exec --with A=aws --with DB_PASSWORD=database -- ./deploy --fast',
        ),
      )
      .addHelpText(
        'after',
        `
Nothing is started unless all credentials are there. It ends with the exit code of the
command: 128 and the number of the signal that ended it, 127 where there is no such command,
126 where it cannot be run.`,
      )
      .action(action(() => import('../exec/exec.ts'))),
    new Command('completion')
      .summary('print what makes a shell complete svault’s commands')
      .description('Print what makes a shell complete svault’s commands, flags, and names of logins.')
      .addArgument(new Argument('<shell>').choices(SHELLS))
      .addHelpText(
        'after',
        examples(
          'svault completion bash > ~/.local/share/bash-completion/completions/svault',
          'svault completion zsh > "${fpath[1]}/_svault"',
          'svault completion fish > ~/.config/fish/completions/svault.fish',
          'eval "$(svault completion bash)"   # in this shell alone; zsh as well, after compinit',
        ),
      )
      .action(action(() => import('../completion/completion.ts'))),
    new Command('explain')
      .description('say what an error code means and what to do about it')
      .argument(
        '[code]',
        'such as TICKET_INVALID, an exit code of svault, or an HTTP status; without it, all codes',
      )
      .addHelpText(
        'after',
        examples(
          'svault explain NO_GRANT',
          'svault explain 7',
          'svault explain 429',
          'svault explain --format wide',
        ),
      )
      .addHelpText(
        'after',
        `
What a webhook refuses to a proxy arrives with HTTP 502, whatever is shown here; 413, 429 and
504 stay as they are.`,
      )
      .action(action(() => import('../explain/explain.ts'))),
  ];
}
