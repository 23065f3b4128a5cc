import { startCheckpoints } from '@svault/server-kit/checkpoint';
import { type Listener, listen } from '@svault/server-kit/listener';
import { type Logger, createLogger } from '@svault/server-kit/logger';
import { serveMetrics } from '@svault/server-kit/metrics';
import { holdServeLock } from '@svault/server-kit/sqlite-lock';
import { type Clock, systemClock } from '@svault/shared';
import { createApp } from './app.ts';
import type { WebhookConfig } from './config/config.ts';
import { type Context, openContext } from './context.ts';

export interface RunningWebhook {
  /** Where it listens, with the port that was really taken; its public address is a setting. */
  readonly url: string;
  /** Where `GET /metrics` is, if it was asked for. */
  readonly metricsUrl: string | undefined;
  /** Lets requests in hand finish, then closes the database. */
  close(): Promise<void>;
}

/** How often a running serve looks whether the master key was rotated beside it. */
const KEY_WATCH_INTERVAL_MS = 500;

/**
 * Starts the webhook.
 *
 * @throws WrongMasterKey, NewerSchema, AlreadyServing; nothing listens then and nothing was changed
 */
export async function startWebhook(
  config: WebhookConfig,
  options: { readonly clock?: Clock; readonly logger?: Logger } = {},
): Promise<RunningWebhook> {
  const { clock = systemClock } = options;
  const logger =
    options.logger ?? createLogger({ name: 'webhook', level: config.logLevel, format: config.logFormat });
  const context = await openContext(config, { clock, logger });
  const stops: (() => Promise<void> | void)[] = [() => context.close()];
  const close = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    const lock = holdServeLock(context.path);
    stops.push(() => lock.release());
    const checkpoints = startCheckpoints(context.path);
    stops.push(() => checkpoints.stop());
    stops.push(every(KEY_WATCH_INTERVAL_MS, logger, () => context.keyring.refresh()));
    const metrics = await startMetrics(context);
    if (metrics !== undefined) stops.push(() => metrics.close());
    const listener = await listen(createApp(context), config.listen);
    stops.push(() => listener.close());
    logger.info(
      { url: listener.url, webhookUrl: config.webhookUrl, egressAllow: config.egressAllow },
      'the webhook listens',
    );
    return { url: listener.url, metricsUrl: metrics?.url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startMetrics({ config, metrics }: Context): Promise<Listener | undefined> {
  return config.metricsListen && serveMetrics(metrics, config.metricsListen);
}

/** Runs a job now and then until stopped; its failure is logged and the next round tries again. */
function every(intervalMs: number, logger: Logger, job: () => void): () => void {
  const run = (): void => {
    try {
      job();
    } catch (error) {
      logger.error({ err: error }, 'a background job failed');
    }
  };
  run();
  const timer = setInterval(run, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
