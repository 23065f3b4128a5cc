import type { Subcommand } from '@svault/server-kit/program';
import { formatTime } from '@svault/shared';
import { withVault } from './with-vault.ts';

/** The bind page's result without a browser: whoever may run this on the machine needs no set-up token. */
export const bindLinkCommand: Subcommand = {
  summary: 'Print a one-time registration link and its fingerprint.',
  operands: 0,
  run: (_operands, surroundings) =>
    withVault(surroundings, async ({ door, say }) => {
      const { link, fingerprint, expiresAtMs } = await door.makeLink();
      say(`${link}\n\nFingerprint  ${fingerprint}\nExpires      ${formatTime(expiresAtMs)}, works once`);
    }),
};
