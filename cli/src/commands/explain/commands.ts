import { Command } from 'commander';
import { type Action, examples } from '../declare.ts';

/** `explain` */
export const explainCommand = (action: Action): Command =>
  new Command('explain')
    .description('explain an error code and what to do about it')
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
A webhook's denial reaches the client of a proxy with HTTP 502 instead of the status shown here; 413, 429 and
504 stay as they are.`,
    )
    .action(action(() => import('./explain.ts'), 'explain'));
