import { setTimeout as delay } from 'node:timers/promises';
import { startCheckpoints } from '@svault/server-kit/checkpoint';
import { listen } from '@svault/server-kit/listener';
import { type Logger, createLogger } from '@svault/server-kit/logger';
import type { ListenAddress } from '@svault/server-kit/settings';
import { startTracing } from '@svault/server-kit/tracing';
import { VERSION } from '@svault/server-kit/version';
import { type Clock, formatTime, systemClock } from '@svault/shared';
import type { Resolve } from '@svault/shared/egress';
import { createApp } from './app.ts';
import { tidyApprovals } from './approvals/tidy.ts';
import type { WebhookConfig } from './config/config.ts';
import { eraseExpiredKeys } from './binding/binding.ts';
import { checkBinding, firstSetupToken } from './binding/setup-token.ts';
import { openContext } from './context.ts';
import { NO_METRICS, createMetrics } from './metrics.ts';
import { startReadings } from './readings.ts';
import { forgetExpiredClaims } from './replay/claim-once.ts';
import { acceptsAgainMs } from './replay/freshness.ts';

export interface RunningWebhook {
  /** Where it listens, with the actual port; its public address is a setting. */
  readonly url: string;
  /** Where `GET /metrics` is; undefined if it is off. */
  readonly metricsUrl: string | undefined;
  /** The set-up token, if this start generated it; it cannot be read later. */
  readonly firstSetupToken: string | undefined;
  /**
   * Reports that it is not ready, continues for `SV_DRAIN_SECONDS`, completes requests under way, then closes the
   * database.
   */
  close(): Promise<void>;
}

/** A scrape that is cut off is repeated. */
const METRICS_GRACE_MS = 500;
/** Room for a target of 8 KiB, the longest ticket, and an agent's fields with their signed names (PROTOCOL.md HTP-19). */
const MAX_HEADER_BYTES = 40 * 1024;
/**
 * How long after the last accepted request a refresh still begins. A provider's answer takes 8 s at most and must be
 * stored before the program is killed.
 */
const REFRESHES_BEGIN_MS = 1_000;
/** How often a running serve checks whether another process rotated the root key. */
const KEY_WATCH_INTERVAL_MS = 500;
/** How often expired keys, codes and claims are erased. */
const TIDY_INTERVAL_MS = 60_000;
/** How often tokens that a failing disk did not take are written again. */
const UNSTORED_INTERVAL_MS = 1_000;
/** How often versions are erased that were replaced or deleted 7 days ago. */
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
    /** Waits between the signal to stop and the last accepted request; the argument is in milliseconds. */
    readonly drain?: (ms: number) => Promise<unknown>;
  } = {},
): Promise<RunningWebhook> {
  const { clock = systemClock, resolve, drain = delay } = options;
  const logger =
    options.logger ?? createLogger({ name: 'webhook', level: config.logLevel, format: config.logFormat });
  const { metrics, serveMetrics } = await loadMetrics(config.metricsListen);
  const tracer = await startTracing(config.tracing, { program: 'svault-webhook', logger });
  const context = await openContext(
    config,
    { clock, logger, metrics, tracer, ...(resolve !== undefined && { resolve }) },
    { serve: true },
  );
  const { keyring, vault, refreshing, mint } = context;
  const stops: (() => Promise<void> | void)[] = [() => tracer.close(), () => context.close()];
  const giveBack = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (error) {
        // A failure, such as a full disk, must not keep the lock and the connections.
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
    // After the last request: tokens that a provider rotated are stored before the database closes.
    stops.push(() => refreshing.close());
    checkBinding({ ...context, ...config });
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
        await tidyApprovals(context);
      }),
    );
    const liveVersion = (serviceName: string) => vault.describe(serviceName)?.version;
    stops.push(every(TIDY_INTERVAL_MS, logger, () => mint.tidy(liveVersion)));
    stops.push(every(UNSTORED_INTERVAL_MS, logger, () => refreshing.storeUnstored()));
    stops.push(every(PURGE_INTERVAL_MS, logger, () => vault.purgeExpired()));

    refreshing.resume().catch((error: unknown) => logger.error({ err: error }, 'a background job failed'));

    const { signal } = leaving;
    startReadings(context, () => signal.aborted);
    const metricsListener = await serveMetrics?.();
    stops.push(() => metricsListener?.close(METRICS_GRACE_MS));
    const listener = await listen(tracer.serve(createApp(context, signal)), {
      ...config.listen,
      setting: 'SV_WEBHOOK_LISTEN',
      maxHeaderBytes: MAX_HEADER_BYTES,
      leaving: signal,
    });
    stops.push(async () => {
      const late = setTimeout(() => refreshing.leave(), REFRESHES_BEGIN_MS);
      await listener.close();
      clearTimeout(late);
    });
    const printedToken = await firstSetupToken({ ...context, ...config });
    const { webhookUrl, egressAllow } = config;
    logger.info({ version: VERSION, url: listener.url, webhookUrl, egressAllow }, 'the webhook listens');
    const { restoredAtMs } = context;
    const untilMs = restoredAtMs === undefined ? 0 : acceptsAgainMs(restoredAtMs);
    if (clock.now() < untilMs)
      logger.warn(
        { until: formatTime(untilMs) },
        'restored from a backup: requests and tickets are refused until deliveries resume',
      );
    return { url: listener.url, metricsUrl: metricsListener?.url, firstSetupToken: printedToken, close };
  } catch (error) {
    await giveBack();
    throw error;
  }
}

/** Loaded only where metrics are asked for. */
async function loadMetrics(address: ListenAddress | undefined) {
  if (address === undefined) return { metrics: NO_METRICS };
  const kit = await import('@svault/server-kit/metrics');
  const registry = kit.createMetrics();
  return {
    metrics: createMetrics(kit.metersOf(registry)),
    serveMetrics: () => kit.serveMetrics(registry, address),
  };
}

/**
 * Runs a job now and then at intervals. A failure is logged, and the next round tries again.
 *
 * @returns a function that stops it, after the round under way
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
