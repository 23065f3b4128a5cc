import { Command } from 'commander';
import { type Action, examples } from '../declare.ts';

/** `vault` and all below it. */
export function vaultCommand(action: Action): Command {
  const vault = new Command('vault')
    .summary('the vault: whether it is locked')
    .description('The vault: while it is locked, no credential is given out and nothing can be changed.');
  vault
    .command('status')
    .alias('stat')
    .description('say whether the vault is locked')
    .addHelpText('after', examples('svault vault status'))
    .action(action(() => import('./actions.ts'), 'vaultStatus'));
  vault
    .command('lock')
    .description('lock the vault: refuse every credential and every change until it is unlocked')
    .addHelpText('after', examples('svault vault lock'))
    .action(action(() => import('./actions.ts'), 'lockVault'));
  vault
    .command('unlock')
    .description('unlock the vault: let them through again (admin)')
    .addHelpText('after', examples('svault vault unlock'))
    .action(action(() => import('./actions.ts'), 'unlockVault'));
  return vault;
}
