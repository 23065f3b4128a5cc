import { setTimeout as delay } from 'node:timers/promises';
import { startCheckpoints } from '@svault/server-kit/checkpoint';
import { listen } from '@svault/server-kit/listener';
import { type Logger, createLogger } from '@svault/server-kit/logger';
import { createMetrics, serveMetrics } from '@svault/server-kit/metrics';
import { type Clock, systemClock } from '@svault/shared';
import type { Resolve } from '@svault/shared/egress';
import { createApp } from './app.ts';
import type { WebhookConfig } from './config/config.ts';
import { eraseExpiredKeys } from './binding/binding.ts';
import { firstSetupToken } from './binding/setup-token.ts';
import { openContext } from './context.ts';
import { forgetExpiredClaims } from './replay/claim-once.ts';

export interface RunningWebhook {
  /** Where it listens, with the port that was really taken; its public address is a setting. */
  readonly url: string;
  /** Where `GET /metrics` is, if it was asked for. */
  readonly metricsUrl: string | undefined;
  /** What the bind page asks for, where this start made it; it can be read nowhere later. */
  readonly firstSetupToken: string | undefined;
  /**
   * Says that it is not ready any more and goes on for `SV_DRAIN_SECONDS`, lets requests in hand finish, then closes the
   * database.
   */
  close(): Promise<void>;
}

/** Who reads figures can read them again. */
const METRICS_GRACE_MS = 500;
/**
 * So long after requests are not taken any more, a token's refresh still begins. A provider takes 8 s at most, and what it
 * has rotated must be stored before the program has to be gone.
 */
const REFRESHES_BEGIN_MS = 1_000;
/** How often a running serve looks whether the master key was rotated beside it. */
const KEY_WATCH_INTERVAL_MS = 500;
/** How often keys, codes and claims whose time is over are erased. */
const TIDY_INTERVAL_MS = 60_000;
/** How often a pair is stored again that a failing disk did not take. */
const UNSTORED_INTERVAL_MS = 1_000;
/** How often records are erased that were replaced or deleted long enough ago. */
const PURGE_INTERVAL_MS = 3_600_000;

/**
 * Starts the webhook.
 *
 * @throws WrongMasterKey, NewerSchema, AlreadyServing; nothing listens then and nothing was changed
 */
export async function startWebhook(
  config: WebhookConfig,
  options: {
    readonly clock?: Clock;
    readonly logger?: Logger;
    readonly resolve?: Resolve;
    /** Waits so many milliseconds between being told to stop and taking no more requests. */
    readonly drain?: (ms: number) => Promise<unknown>;
  } = {},
): Promise<RunningWebhook> {
  const { clock = systemClock, resolve, drain = delay } = options;
  const logger =
    options.logger ?? createLogger({ name: 'webhook', level: config.logLevel, format: config.logFormat });
  const context = await openContext(
    config,
    { clock, logger, ...(resolve !== undefined && { resolve }) },
    { serve: true },
  );
  const { keyring, vault, refreshing, mint } = context;
  const stops: (() => Promise<void> | void)[] = [() => context.close()];
  const giveBack = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (error) {
        // A full disk must not keep the lock and the connections: the rest is given back all the same.
        logger.error({ err: error }, 'something could not be stopped in order');
      }
    }
  };
  const leaving = new AbortController();
  const close = async (): Promise<void> => {
    leaving.abort();
    logger.info({ drainSeconds: config.drainSeconds }, 'the webhook stops');
    await drain(config.drainSeconds * 1000);
    await giveBack();
  };
  try {
    const checkpoints = startCheckpoints(context.path);
    stops.push(() => checkpoints.stop());
    // Once nobody asks any more: what a provider has rotated is stored before the database closes.
    stops.push(() => refreshing.close());
    const printedToken = await firstSetupToken({ ...context, ...config });
    // Before the database closes, so that what expired stays expired if the next start finds the clock set back.
    stops.push(async () => {
      await eraseExpiredKeys(context);
      await context.commit.run(() => context.floor.save());
    });
    stops.push(every(KEY_WATCH_INTERVAL_MS, logger, () => keyring.refresh()));
    stops.push(
      every(TIDY_INTERVAL_MS, logger, async () => {
        await eraseExpiredKeys(context);
        await forgetExpiredClaims(context);
      }),
    );
    const liveVersion = (serviceName: string) => vault.describe(serviceName)?.version;
    stops.push(every(TIDY_INTERVAL_MS, logger, () => mint.tidy(liveVersion)));
    stops.push(every(UNSTORED_INTERVAL_MS, logger, () => refreshing.storeUnstored()));
    stops.push(every(PURGE_INTERVAL_MS, logger, () => vault.purgeExpired()));

    refreshing.resume().catch((error: unknown) => logger.error({ err: error }, 'a background job failed'));

    const registry = createMetrics('webhook');
    const metrics = config.metricsListen && (await serveMetrics(registry, config.metricsListen));
    if (metrics !== undefined) stops.push(() => metrics.close(METRICS_GRACE_MS));
    const { signal } = leaving;
    const app = createApp(context, registry, signal);
    const listener = await listen(app, { ...config.listen, leaving: signal });
    stops.push(async () => {
      const late = setTimeout(() => refreshing.leave(), REFRESHES_BEGIN_MS);
      await listener.close();
      clearTimeout(late);
    });
    const { webhookUrl, egressAllow } = config;
    logger.info({ url: listener.url, webhookUrl, egressAllow }, 'the webhook listens');
    return { url: listener.url, metricsUrl: metrics?.url, firstSetupToken: printedToken, close };
  } catch (error) {
    await giveBack();
    throw error;
  }
}

/**
 * Runs a job at once and then again and again. A failure is logged, and the next round tries again.
 *
 * @returns stops it, after the round in hand
 */
function every(intervalMs: number, logger: Logger, job: () => unknown): () => Promise<void> {
  let round: Promise<void> = Promise.resolve();
  const run = (): void => {
    round = round
      .then(job)
      .then(() => undefined)
      .catch((error: unknown) => logger.error({ err: error }, 'a background job failed'));
  };
  run();
  const timer = setInterval(run, intervalMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await round;
  };
}
