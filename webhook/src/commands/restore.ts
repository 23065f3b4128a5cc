import type { Subcommand } from '@svault/server-kit/program';
import { say, withVault } from './with-vault.ts';

export const restoreCommand: Subcommand = {
  usage: 'NAME',
  summary: 'Bring back the version of a record that was replaced or deleted last.',
  operands: 1,
  run: ([serviceName = '']) =>
    withVault(async ({ vault }) => {
      const version = await vault.restore(serviceName);
      if (version === undefined) throw new Error(`no former version of ${serviceName} is kept`);
      say(`${serviceName} is back as version ${version}`);
    }),
};
