import type { Subcommand } from '@svault/server-kit/program';
import { withVault } from './with-vault.ts';

/** Past the control plane, so that its owner has a note that it cannot have changed. */
const auditCheckpoint: Subcommand = {
  usage: '[--keys]',
  summary:
    'Print the checkpoint of the control plane’s log that was cosigned last, or the keys that signed it',
  operands: 0,
  optionalOperands: 1,
  run: ([option], surroundings) =>
    withVault(surroundings, async ({ checkpoints, say }) => {
      if (option !== undefined && option !== '--keys') throw new Error(`${option} is not known: --keys is`);
      const newest = checkpoints.newest();
      if (newest === undefined)
        throw new Error(
          'no checkpoint was cosigned yet; the control plane sends one within a minute of the next event',
        );
      const key = await checkpoints.key();
      say(option === undefined ? newest.note.trimEnd() : `${newest.logKey}\n${key}`);
    }),
};

const auditResetCheckpoints: Subcommand = {
  summary: 'Forget the cosigned checkpoints, after the control plane was restored from a backup',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async ({ checkpoints, say }) => {
      const logs = await checkpoints.reset();
      say(
        logs === 0
          ? 'No checkpoint was cosigned; nothing is changed.'
          : 'Forgotten: the next checkpoint is cosigned without a look at the former ones.',
      );
    }),
};

export const CHECKPOINT_COMMANDS: Readonly<Record<string, Subcommand>> = {
  'audit checkpoint': auditCheckpoint,
  'audit reset-checkpoints': auditResetCheckpoints,
};
