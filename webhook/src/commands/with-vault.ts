import { createLogger } from '@svault/server-kit/logger';
import { systemClock } from '@svault/shared';
import { type WebhookConfig, webhookConfig } from '../config/config.ts';
import { type Context, openContext } from '../context.ts';

/** Opens the vault for one command, beside a running serve, and closes it again. */
export async function withVault<T>(
  run: (context: Context) => Promise<T>,
  config: WebhookConfig = webhookConfig(process.env),
): Promise<T> {
  const destination = process.stderr;
  const logger = createLogger({ name: 'webhook', level: 'warn', format: config.logFormat, destination });
  const context = await openContext(config, { clock: systemClock, logger });
  try {
    return await run(context);
  } finally {
    context.close();
  }
}

/** What a command says when it is done. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
