import { silentLogger } from '@svault/server-kit/logger';
import type { Subcommand } from '@svault/server-kit/program';
import { systemClock } from '@svault/shared';
import { webhookConfig } from '../config/config.ts';
import { openContext } from '../context.ts';

/** Ends a binding on the webhook's own machine; a serve that runs beside it refuses the next request already. */
export const unsealBindCommand: Subcommand = {
  summary: 'Unbind: erase all keys of the binding at once and open the bind page again.',
  operands: 0,
  run: async () => {
    const context = await openContext(webhookConfig(process.env), {
      clock: systemClock,
      logger: silentLogger,
    });
    try {
      const { wasBound, setupToken } = await context.door.unseal();
      process.stdout.write(
        wasBound
          ? 'Unbound: the keys of the binding are erased.\n'
          : 'Nothing was bound; any open registration link is void now.\n',
      );
      if (setupToken !== undefined) {
        process.stdout.write(`New set-up token, shown this once:\n${setupToken}\n`);
      }
    } finally {
      context.close();
    }
  },
};
