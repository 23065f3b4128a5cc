import type { Subcommand } from '@svault/server-kit/program';
import { withVault } from './with-vault.ts';

/** Ends a binding on the webhook's own machine; a serve that runs beside it refuses the next request already. */
export const unsealBindCommand: Subcommand = {
  summary: 'Unbind: erase all keys of the binding at once and open the bind page again.',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async ({ door, say }) => {
      const { wasBound, setupToken } = await door.unseal();
      say(
        wasBound
          ? 'Unbound: the keys of the binding are erased.'
          : 'Nothing was bound; any open registration link is void now.',
      );
      if (setupToken !== undefined) say(`New set-up token, shown this once:\n${setupToken}`);
    }),
};
