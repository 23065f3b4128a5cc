import { Command } from 'commander';
import { type Action, examples } from '../declare.ts';

/** `vault` and all below it. */
export function vaultCommand(action: Action): Command {
  const vault = new Command('vault')
    .summary('the vault: lock and unlock everything, and whether agents may ask for grants')
    .description('The vault: while it is locked, no credential is delivered and nothing can be changed.');
  vault
    .command('status')
    .alias('stat')
    .description('show whether the vault is locked')
    .addHelpText(
      'after',
      examples(
        'svault vault status',
        'svault vault status --json | jq .locked',
        'svault vault status --context work',
      ),
    )
    .action(action(() => import('./actions.ts'), 'vaultStatus'));
  vault
    .command('lock')
    .description('lock the vault: refuse every credential and every change until it is unlocked')
    .addHelpText(
      'after',
      examples(
        'svault vault lock',
        'svault vault lock --context work',
        'svault audit --type vault-locked    # who locked it before',
      ),
    )
    .action(action(() => import('./actions.ts'), 'lockVault'));
  vault
    .command('unlock')
    .description('unlock the vault: allow credentials and changes again (admin)')
    .addHelpText(
      'after',
      examples(
        'svault vault unlock',
        'svault vault unlock --context work',
        'svault audit --type vault-locked --limit 1    # who locked it',
      ),
    )
    .action(action(() => import('./actions.ts'), 'unlockVault'));
  vault
    .command('edit')
    .description('let agents ask for credentials that they have no grant for, or no longer (admin)')
    .option('--access-requests', 'agents may ask; a person grants it, or denies')
    .option('--no-access-requests', 'agents may not ask')
    .addHelpText(
      'after',
      examples(
        'svault vault edit --access-requests',
        'svault vault edit --no-access-requests',
        'svault approvals    # what they ask for',
      ),
    )
    .action(action(() => import('./actions.ts'), 'editVault'));
  return vault;
}
