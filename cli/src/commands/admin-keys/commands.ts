import type { Command } from 'commander';
import { type Action, YES, nounCommand } from '../declare.ts';

/** `admin-keys` and all below it. */
export const adminKeysCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'admin-keys',
    summary: 'admin keys: what automation manages the account with (admin)',
    description:
      'Admin keys: what automation manages the account with, as SVAULT_KEY. Each acts as the admin who made it, and is shown once.',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list the admin keys by their first characters',
        examples: ['svault admin-keys list', 'svault admin-keys list --json'],
        run: 'listAdminKeys',
      },
      create: {
        says: 'make an admin key, and print it this once',
        options: [['--name <name>', 'what it is for (needed)']],
        examples: ['svault admin-keys create --name terraform'],
        run: 'createAdminKey',
      },
      rm: {
        says: 'revoke an admin key',
        operands: { '<key>': 'its name or its id' },
        options: [YES],
        examples: ['svault admin-keys rm terraform'],
        run: 'removeAdminKey',
      },
    },
  });
