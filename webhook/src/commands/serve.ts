import type { Subcommand } from '@svault/server-kit/program';
import { onStop } from '@svault/server-kit/shutdown';
import { webhookConfig } from '../config/config.ts';
import { startWebhook } from '../serve.ts';

export const serveCommand: Subcommand = {
  summary: 'Serve until SIGTERM or SIGINT.',
  operands: 0,
  run: async () => {
    const webhook = await startWebhook(webhookConfig(process.env));
    // To the terminal alone: the log is kept and shipped, and this line must not be.
    if (webhook.firstSetupToken !== undefined)
      process.stderr.write(`set-up token for the bind page, shown this once: ${webhook.firstSetupToken}\n`);
    onStop(() => webhook.close());
  },
};
