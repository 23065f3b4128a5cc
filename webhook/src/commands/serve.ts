import type { Subcommand } from '@svault/server-kit/program';
import { onStop } from '@svault/server-kit/shutdown';
import { webhookConfig } from '../config/config.ts';
import { startWebhook } from '../serve.ts';

export const serveCommand: Subcommand = {
  summary: 'Serve until SIGTERM or SIGINT.',
  operands: 0,
  run: async (_operands, { env, err }) => {
    const config = webhookConfig(env);
    const starting = startWebhook(config);
    // Before it is up: as the first process of a container it would not hear of a stop otherwise.
    onStop(async () => (await starting).close(), { drainSeconds: config.drainSeconds, err });
    const webhook = await starting;
    // To the terminal alone: the log is kept and shipped, and this line must not be.
    if (webhook.firstSetupToken !== undefined)
      err(`set-up token for the bind page, shown this once: ${webhook.firstSetupToken}\n`);
  },
};
