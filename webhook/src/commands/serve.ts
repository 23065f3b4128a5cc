import { onStop } from '@svault/server-kit/shutdown';
import type { Subcommand } from '@svault/server-kit/program';
import { webhookConfig } from '../config/config.ts';
import { startWebhook } from '../serve.ts';

export const serveCommand: Subcommand = {
  summary: 'Serve until SIGTERM or SIGINT.',
  operands: 0,
  run: async () => {
    const webhook = await startWebhook(webhookConfig(process.env));
    onStop(() => webhook.close());
  },
};
