import type { Subcommand } from '@svault/server-kit/program';
import { withVault } from './with-vault.ts';

export const restoreCommand: Subcommand = {
  usage: 'NAME [VERSION]',
  summary: 'Bring back a version of a record: the one replaced or deleted last, unless named.',
  operands: 1,
  optionalOperands: 1,
  run: ([serviceName = '', version], surroundings) =>
    withVault(surroundings, async ({ vault, say }) => {
      const kept = vault.keptVersions(serviceName).join(', ');
      const restored = await vault.restore(serviceName, version === undefined ? undefined : Number(version));
      if (restored !== undefined) say(`${serviceName} is back as version ${restored}; kept were ${kept}`);
      else if (kept === '') throw new Error(`no former version of ${serviceName} is kept`);
      else throw new Error(`version ${version} of ${serviceName} is not kept; kept are ${kept}`);
    }),
};
