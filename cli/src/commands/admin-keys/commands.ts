import type { Command } from 'commander';
import { type Action, YES, nounCommand } from '../declare.ts';

/** `admin-keys` and all below it. */
export const adminKeysCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'admin-keys',
    summary: 'admin keys: what automation manages the account with (admin)',
    description:
      'Admin keys: what automation manages the account with, as SVAULT_KEY. Each acts as the admin who created it, and is shown once.',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list the admin keys by their first characters',
        examples: [
          'svault admin-keys list',
          'svault admin-keys list --format wide',
          "svault admin-keys list --json | jq -r '.[] | select(.lastUsedAt == null) | .name'    # never used",
        ],
        run: 'listAdminKeys',
      },
      create: {
        says: 'create an admin key and print it, only once',
        options: [['--name <name>', 'what it is for (needed)']],
        examples: [
          'svault admin-keys create --name terraform',
          'svault admin-keys create --name terraform > terraform.key',
          'svault admin-keys create --name ci | gh secret set SVAULT_KEY',
        ],
        run: 'createAdminKey',
      },
      rm: {
        says: 'revoke an admin key',
        operands: { '<key>': 'its name or its id' },
        options: [YES],
        examples: [
          'svault admin-keys rm terraform',
          'svault admin-keys rm terraform --yes',
          'svault audit --from 30d --format wide | grep terraform    # whether it is used',
        ],
        run: 'removeAdminKey',
      },
    },
  });
