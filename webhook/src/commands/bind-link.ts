import { silentLogger } from '@svault/server-kit/logger';
import type { Subcommand } from '@svault/server-kit/program';
import { formatTime, systemClock } from '@svault/shared';
import { webhookConfig } from '../config/config.ts';
import { openContext } from '../context.ts';

/** The bind page's result without a browser: whoever may run this on the machine needs no set-up token. */
export const bindLinkCommand: Subcommand = {
  summary: 'Print a one-time registration link and its fingerprint.',
  operands: 0,
  run: async () => {
    const context = await openContext(webhookConfig(process.env), {
      clock: systemClock,
      logger: silentLogger,
    });
    try {
      const { link, fingerprint, expiresAtMs } = await context.door.makeLink();
      process.stdout.write(
        `${link}\n\nFingerprint  ${fingerprint}\nExpires      ${formatTime(expiresAtMs)}, works once\n`,
      );
    } finally {
      context.close();
    }
  },
};
