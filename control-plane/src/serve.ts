import type { RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '@svault/shared';
import { listen } from '@svault/server-kit/listener';
import { type Logger, createLogger } from '@svault/server-kit/logger';
import { type ListenAddress, SettingsError } from '@svault/server-kit/settings';
import { startTracing } from '@svault/server-kit/tracing';
import { VERSION } from '@svault/server-kit/version';
import { ensureOwner } from './sign-in/bootstrap.ts';
import { makeLoginLink } from './sign-in/login-link.ts';
import { createApp } from './app.ts';
import type { StartJob } from './core/background-job.ts';
import { issuerProblem } from './sign-in/oidc/issuer.ts';
import type { ControlPlaneConfig } from './config/config.ts';
import { type Context, type Timeouts, createContext } from './context.ts';
import { type Jobs, startJobs } from './jobs.ts';
import type { Wait } from './webhook/retrying-client.ts';
import { meterResponses } from '@svault/server-kit/metered-responses';
import { NO_METRICS, createMetrics, endpointOf } from './metrics.ts';
import { startReadings } from './readings.ts';

/** An interrupted read of the metrics can be repeated. */
const METRICS_GRACE_MS = 500;

export interface RunningControlPlane {
  /** The address it listens on, with the port that was really taken. */
  readonly url: string;
  /** Where `GET /metrics` is, if it was asked for. */
  readonly metricsUrl: string | undefined;
  /** A one-time link that signs the owner in; only from the start that made the account. */
  readonly ownerLink: string | undefined;
  /**
   * Reports itself as not ready and goes on for `SV_DRAIN_SECONDS`, lets open requests finish, then releases everything.
   */
  close(): Promise<void>;
}

/** Replacements for tests; by default the system's clock and timers, and the logger of the settings. */
export interface ServeOptions {
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Between two tries of a call to a webhook. */
  readonly waitToRetry?: Wait | undefined;
  /** In place of the defaults. */
  readonly timeouts?: Timeouts | undefined;
  /** Waits so many milliseconds between the signal to stop and the end of taking requests. */
  readonly drain?: (ms: number) => Promise<unknown>;
  /** Runs a background job repeatedly. */
  readonly startJob?: StartJob | undefined;
  /** In place of the program's own: those of another version of it. */
  readonly migrations?: Parameters<typeof createContext>[1]['migrations'];
  /** Where the built console is. */
  readonly consoleFolder?: string | undefined;
}

/**
 * Starts the service: the database with the right to serve on it, the listener, then the owner account, and only then
 * requests. A failed step releases the results of those before it. The account comes last, since its link is shown by the
 * start that makes it: a start that fails, on a port that is taken for example, makes none.
 *
 * @throws SettingsError for another issuer than the provider's, UnusableGeoDatabase, AlreadyServing, WrongMasterKey, NewerSchema, or an error of `ensureOwner` or the listener
 */
export async function startControlPlane(
  config: ControlPlaneConfig,
  options: ServeOptions = {},
): Promise<RunningControlPlane> {
  const { clock = systemClock, waitToRetry, timeouts, drain = delay, startJob, migrations } = options;
  const logger =
    options.logger ??
    createLogger({ name: 'control-plane', level: config.logLevel, format: config.logFormat });
  const undo: (() => Promise<void> | void)[] = [];
  const giveBack = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const leaving = new AbortController();
  const close = async (): Promise<void> => {
    leaving.abort();
    logger.info({ drainSeconds: config.drainSeconds }, 'control plane stops');
    await drain(config.drainSeconds * 1000);
    await giveBack();
  };
  try {
    const { metrics, listener: metricsListener } = await startMetrics(config.metricsListen);
    undo.push(() => metricsListener?.close(METRICS_GRACE_MS));
    const tracer = await startTracing(config.tracing, { program: 'svault-control-plane', logger });
    undo.push(() => tracer.close());
    const context = await createContext(config, {
      ...{ clock, logger, metrics, tracer, waitToRetry, timeouts, migrations },
    });
    undo.push(() => context.close());
    await checkIssuer(context);
    const { signal } = leaving;
    const { listener: app } = createApp(context, { leaving: signal, consoleFolder: options.consoleFolder });
    startReadings(context, () => signal.aborted);
    const metered = metrics === NO_METRICS ? app : meterResponses(app, { ...metrics, endpointOf });
    const gate = closedGate(tracer.serve(metered));
    let jobs: Jobs | undefined = undefined;
    undo.push(() => jobs?.stop());
    const listener = await listen(gate.handler, {
      ...config.listen,
      setting: 'SV_LISTEN',
      leaving: signal,
    });
    undo.push(() => {
      jobs?.leave();
      // Requests that wait at the gate are not waited for.
      return listener.close(jobs === undefined ? 0 : undefined);
    });
    const ownerLink = await bootstrap(context);
    jobs = startJobs(context, startJob);
    gate.open();
    logStartup(context, listener.url);
    return { url: listener.url, metricsUrl: metricsListener?.url, ownerLink, close };
  } catch (error) {
    await giveBack();
    throw error;
  }
}

/** A handler whose requests wait until it is opened, so that none finds the service half started. */
function closedGate(app: RequestListener): { readonly handler: RequestListener; open(): void } {
  const { promise: opened, resolve } = Promise.withResolvers<void>();
  let handle: RequestListener = (req, res) => void opened.then(() => app(req, res));
  return {
    handler: (req, res) => handle(req, res),
    open: () => {
      handle = app;
      resolve();
    },
  };
}

/** Loaded only where metrics are asked for. */
async function startMetrics(address: ListenAddress | undefined) {
  if (address === undefined) return { metrics: NO_METRICS };
  const {
    createMetrics: createRegistry,
    metersOf,
    serveMetrics,
  } = await import('@svault/server-kit/metrics');
  const registry = createRegistry();
  const metrics = createMetrics(metersOf(registry));
  return { listener: await serveMetrics(registry, address), metrics };
}

/**
 * Fails the start where the configured issuer differs from the provider's own, since no sign-in could succeed. An unreachable
 * provider does not: agents need none, and each sign-in compares again.
 *
 * @throws SettingsError
 */
async function checkIssuer({ signInMethods, logger }: Context): Promise<void> {
  if (signInMethods.kind !== 'provider') return;
  const { issuer } = signInMethods;
  const stated = await signInMethods.statedIssuer().catch((err: unknown) => {
    logger.warn({ issuer, err }, 'the identity provider does not say its issuer; sign-ins will ask again');
    return issuer;
  });
  const problem = issuerProblem(issuer, stated);
  if (problem !== undefined) throw new SettingsError([problem]);
}

async function bootstrap({ config, clock, unitOfWork }: Context): Promise<string | undefined> {
  return unitOfWork.runAcross(async (stores) => {
    const { owner, created } = await ensureOwner(stores, config.bootstrap, clock);
    if (!created) return undefined;
    return (await makeLoginLink(stores, owner, { baseUrl: config.baseUrl, clock })).url;
  });
}

function logStartup({ config, logger }: Context, url: string): void {
  logger.info(
    {
      version: VERSION,
      url,
      baseUrl: config.baseUrl,
      egressAllow: config.egressAllow,
      connectTo: config.connectTo,
    },
    'control plane serves',
  );
}
