import type { Subcommand } from '@svault/server-kit/program';
import { withVault } from './with-vault.ts';

export const purgeCommand: Subcommand = {
  usage: 'NAME',
  summary: 'Erase the former versions of a record now instead of after 7 days.',
  operands: 1,
  run: ([serviceName = ''], surroundings) =>
    withVault(surroundings, async ({ vault, say }) => {
      const versions = await vault.purge(serviceName);
      say(`erased ${versions} former ${versions === 1 ? 'version' : 'versions'} of ${serviceName}`);
    }),
};
