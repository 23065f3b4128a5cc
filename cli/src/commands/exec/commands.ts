import { Command } from 'commander';
import { type Action, collect, examples } from '../declare.ts';

/** `exec` */
export const execCommand = (action: Action): Command =>
  new Command('exec')
    .description('run a command with credentials in its environment, and nowhere else')
    .option('--with <NAME=SERVICE>', 'a variable and the credential that fills it; may be repeated', collect)
    .argument('<command...>', 'what to run, and its arguments, behind --')
    .addHelpText(
      'after',
      examples(
        'svault exec --with GITHUB_TOKEN=github -- gh repo list',
        'svault exec --with A=aws --with DB_PASSWORD=database -- ./deploy --fast',
        "svault exec --with PGPASSWORD=database -- sh -c 'pg_dump shop > shop.sql'",
      ),
    )
    .addHelpText(
      'after',
      `
Nothing is started unless all credentials are there. It ends with the exit code of the
command: 128 and the number of the signal that ended it, 127 where there is no such command,
126 where it cannot be run.`,
    )
    .action(action(() => import('./exec.ts'), 'exec'));
