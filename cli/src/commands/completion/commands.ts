import { Argument, Command } from 'commander';
import { type Action, examples, type Surroundings } from '../declare.ts';

const SCRIPTS = {
  bash: () => import('./bash-script.ts'),
  zsh: () => import('./zsh-script.ts'),
  fish: () => import('./fish-script.ts'),
} as const;
export type Shell = keyof typeof SCRIPTS;

/** Shells that there is a completion for. */
export const SHELLS = Object.keys(SCRIPTS) as Shell[];

/**
 * `completion SHELL`: a script made from the commands of `program`. It runs svault for names alone; a library such as
 * @bomb.sh/tab starts Node at each TAB.
 */
export const completionCommand = (program: Command, { terminal }: Surroundings): Command =>
  new Command('completion')
    .summary('print the completion script of a shell')
    .description(
      'Print the script with which a shell completes commands, flags, and names of logins, credentials and agents.',
    )
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
    .action(async (shell: Shell) => {
      const [{ commandTree }, { script }] = await Promise.all([
        import('./command-tree.ts'),
        SCRIPTS[shell](),
      ]);
      terminal.out(script(commandTree(program)));
    });

/** `complete-names KIND`, which the scripts run; people have `list --format name` of each noun. */
export const completeNamesCommand = (action: Action): Command =>
  new Command('complete-names')
    .description('print names for the completion of a shell: at once, or none')
    .argument('<kind>', 'such as agents or services')
    .addHelpText(
      'after',
      examples(
        'svault complete-names agents',
        'svault complete-names services | head -n 20',
        'svault complete-names proxies --context work',
      ),
    )
    .action(action(() => import('./names.ts'), 'printNames'));
