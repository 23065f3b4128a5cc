import { Command } from 'commander';
import { type Action, examples } from '../declare.ts';

/** `doctor` */
export const doctorCommand = (action: Action): Command =>
  new Command('doctor')
    .summary('look for what is wrong, and say what to do about it')
    .description(
      'Look for what is wrong, from this machine: clock, reachability, certificates, versions, binding, limits and backups; and say what to do about each. Exit 8 where something is.',
    )
    .option(
      '--backups <folder>',
      'where backups are; the newest one must not be old (default: backups of the webhook project in this folder)',
    )
    .addHelpText(
      'after',
      examples('svault doctor', 'svault doctor --backups /var/backups/svault', 'svault doctor --json'),
    )
    .action(action(() => import('./doctor.ts'), 'doctor'));
