import { createLogger } from '@svault/server-kit/logger';
import type { Surroundings } from '@svault/server-kit/program';
import { webhookConfig } from '../config/config.ts';
import { type Context, openContext } from '../context.ts';

/** The context of a command. */
interface OpenVault extends Context {
  /** Writes a line of output. */
  say(line: string): void;
}

/** Opens the vault for one command, while a serve may run, and closes it again. */
export async function withVault<T>(
  { env, clock, out, err }: Surroundings,
  run: (vault: OpenVault) => Promise<T>,
): Promise<T> {
  const config = webhookConfig(env);
  const destination = { write: err };
  const logger = createLogger({ name: 'webhook', level: 'warn', format: config.logFormat, destination });
  const context = await openContext(config, { clock, logger });
  try {
    return await run({ ...context, say: (line) => out(`${line}\n`) });
  } finally {
    context.close();
  }
}
