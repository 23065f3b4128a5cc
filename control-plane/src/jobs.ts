import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@svault/shared';
import type { Logger } from '@svault/server-kit/logger';
import { evictExpiredSignIns } from './sign-in/expired-sign-ins.ts';
import type { DenialCounter } from './audit/denial-counter.ts';
import { createAuditRetention } from './audit/retention.ts';
import { createAuditShipper } from './webhook/audit-shipper.ts';
import { type LeaderLease, type StartJob, startJob as startByTimer } from './core/background-job.ts';
import { evictUnusedClients } from './authorization-server/clients.ts';
import type { RefreshScheduler } from './refresh/scheduler.ts';
import type { Stores, UnitOfWork } from './core/stores.ts';
import { createAuditDelivery } from './webhook/audit-delivery.ts';
import type { WebhookClient } from './webhook/retrying-client.ts';
import { type KeyRotation, createRotationCompletion } from './webhook/key-rotation.ts';
import type { OutageProber } from './webhook/outage-prober.ts';

/** How often each is looked after. */
const SHIPPING_PAUSE_MS = 250;
const PROBES_PAUSE_MS = 200;
const ENDED_LIMITS_PAUSE_MS = 1_000;
/** By its own clock it works once a minute. */
const TOKEN_REFRESH_PAUSE_MS = 500;
const WITHDRAWN_USES_PAUSE_MS = 1_000;
const DENIALS_PAUSE_MS = 5_000;
const PENDING_KEYS_PAUSE_MS = 5_000;
const PROXY_REMOVALS_PAUSE_MS = 1_000;
const ENDED_SIGN_INS_PAUSE_MS = 60_000;
const UNUSED_CLIENTS_PAUSE_MS = 60_000;
const RETENTION_PAUSE_MS = 5 * 60_000;
/** A run that waits for a webhook that does not answer is not waited for: the next process takes its work up again. */
const STOP_WITHIN_MS = 3_000;

/** All that goes on beside the requests. */
export interface Jobs {
  /** Begins nothing new, while what is in hand goes on. */
  leave(): void;
  /** Ends all of it, and writes what is still counted; to be called once no request comes any more. */
  stop(): Promise<void>;
}

/** Starts them: those of this process, and those that one of the processes on a database does for all. */
export function startJobs(options: {
  readonly stores: Stores;
  readonly unitOfWork: UnitOfWork;
  readonly claim: LeaderLease;
  readonly webhook: WebhookClient;
  readonly rotation: KeyRotation;
  readonly removeProxyConfigs: () => Promise<void>;
  readonly prober: OutageProber;
  readonly denials: DenialCounter;
  readonly endWithdrawnUses: () => Promise<void>;
  readonly refreshScheduler: RefreshScheduler;
  readonly evictExpiredLimits: () => void;
  /** Days that the log is kept; undefined: for ever. */
  readonly auditRetentionDays: number | undefined;
  readonly startJob?: StartJob | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}): Jobs {
  const {
    stores,
    unitOfWork,
    claim,
    webhook,
    rotation,
    denials,
    evictExpiredLimits,
    clock,
    logger,
    prober,
    refreshScheduler,
    startJob = startByTimer,
  } = options;
  const { audit: log, webhookLinks: links } = stores;
  const destination = createAuditDelivery({ links, webhook, unitOfWork, clock });
  const shipper = createAuditShipper({ log, destination, clock, logger });
  const completion = createRotationCompletion({ links, rotation, clock, logger });
  const { auditRetentionDays: days } = options;
  const retention =
    days === undefined ? undefined : createAuditRetention({ log, unitOfWork, days, clock, logger });

  const each = (name: string, pauseMs: number, work: () => Promise<void>) =>
    startJob(name, work, { pauseMs, logger });
  const once = (name: string, pauseMs: number, work: () => Promise<void>) =>
    each(name, pauseMs, async () => {
      if (await claim.hold()) await work();
    });
  const jobs = [
    each('denial counts', DENIALS_PAUSE_MS, () => denials.flush()),
    each('withdrawn uses', WITHDRAWN_USES_PAUSE_MS, options.endWithdrawnUses),
    each('token refresh', TOKEN_REFRESH_PAUSE_MS, refreshScheduler.tick),
    each('webhook probes', PROBES_PAUSE_MS, prober.tick),
    each('ended limits', ENDED_LIMITS_PAUSE_MS, async () => evictExpiredLimits()),
    once('audit shipping', SHIPPING_PAUSE_MS, shipper.ship),
    once('key rotation', PENDING_KEYS_PAUSE_MS, completion.run),
    once('proxy removals', PROXY_REMOVALS_PAUSE_MS, options.removeProxyConfigs),
    once('ended sign-ins', ENDED_SIGN_INS_PAUSE_MS, () => evictExpiredSignIns(stores, clock)),
    once('unused clients', UNUSED_CLIENTS_PAUSE_MS, () => evictUnusedClients(stores, clock)),
    ...(retention === undefined ? [] : [once('audit retention', RETENTION_PAUSE_MS, retention.run)]),
  ];
  const end = async (): Promise<void> => {
    retention?.stop();
    const ended = Promise.all([refreshScheduler.stop(), prober.stop(), ...jobs.map((job) => job.stop())]);
    await Promise.race([ended, delay(STOP_WITHIN_MS, undefined, { ref: false })]);
    await shipper.stop();
  };
  let ending: Promise<void> | undefined;
  return {
    leave: () => void (ending ??= end()),
    stop: async () => {
      await (ending ??= end());
      // A process that cannot say so is followed all the same, only later.
      await claim.release().catch(() => undefined);
      await denials
        .flush(true)
        .catch((error: unknown) => logger.error({ err: error }, 'counted denials could not be written'));
    },
  };
}
