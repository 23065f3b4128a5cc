import { Command } from 'commander';
import type { Action } from '../lazily.ts';

/** `vault` and all below it. */
export function vaultCommand(action: Action): Command {
  const vault = new Command('vault').description('the vault: whether it is locked');
  vault
    .command('status')
    .alias('stat')
    .description('say whether it is locked')
    .action(action(() => import('../vault/vault-status.ts')));
  vault
    .command('lock')
    .description('refuse every credential and every change until it is unlocked')
    .action(action(() => import('../vault/lock-vault.ts')));
  vault
    .command('unlock')
    .description('let them through again (admin)')
    .action(action(() => import('../vault/unlock-vault.ts')));
  return vault;
}
