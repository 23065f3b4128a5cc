import { Command, InvalidArgumentError, Option } from 'commander';
import { type Action, examples } from '../declare.ts';

function wholeHours(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('It must be a number of hours from 1.');
  return Number(text);
}

/** `doctor` */
export const doctorCommand = (action: Action): Command =>
  new Command('doctor')
    .summary('find problems and how to solve them')
    .description(
      'Find problems from this machine: clock, reachability, certificates, versions, binding, limits and backups, each with what to do about it. Exit 8 if there is one.',
    )
    .option(
      '--backups <folder>',
      'where backups are, there or one folder deeper; the newest of each program must not be old (default: those of the webhook project in this folder)',
    )
    .addOption(
      new Option('--backups-of <program>', 'look for the backups of one program alone').choices([
        'control-plane',
        'webhook',
      ]),
    )
    .addOption(
      new Option('--max-backup-age <hours>', 'an older one is a problem').default(26).argParser(wholeHours),
    )
    .addHelpText(
      'after',
      examples('svault doctor', 'svault doctor --backups /var/backups/svault', 'svault doctor --json'),
    )
    .action(action(() => import('./doctor.ts'), 'doctor'));
