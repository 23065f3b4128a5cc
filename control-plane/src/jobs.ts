import { setTimeout as delay } from 'node:timers/promises';
import { createActivityCounting } from './audit/activity-counting.ts';
import { createAuditRetention } from './audit/retention.ts';
import { evictUnusedClients } from './authorization-server/clients.ts';
import type { Context } from './context.ts';
import { type StartJob, type Task, startJob as startByTimer } from './core/background-job.ts';
import { POLL_MS } from './access/approval-waiters.ts';
import { removeEndedApprovals } from './access/approvals.ts';
import { createNotificationDelivery } from './notifications/delivery.ts';
import { createProxyConfigRemoval } from './forwarding/proxy-config-sync.ts';
import { createRefreshScheduler } from './refresh/scheduler.ts';
import { evictExpiredSignIns } from './sign-in/expired-sign-ins.ts';
import { createAuditDelivery } from './webhook/audit-delivery.ts';
import { createAuditShipper } from './webhook/audit-shipper.ts';
import { createCheckpointing } from './webhook/checkpoints.ts';
import { createMissedUses, createMissedUsesRecovery } from './webhook/missed-uses.ts';
import { createRotationCompletion } from './webhook/key-rotation.ts';
import { createOutageProber } from './webhook/outage-prober.ts';

/** A run that still waits for an unresponsive webhook is abandoned: the next process takes up its work. */
const STOP_WITHIN_MS = 3_000;

/** The background jobs. */
export interface Jobs {
  /** Starts no new runs; those that run go on. */
  leave(): void;
  /** Ends them and writes the pending counts. Call it after the last request. */
  stop(): Promise<void>;
}

/**
 * Starts the background jobs: those of this process, and those that one of the processes on a database does for all.
 *
 * @param startJob by timers unless given
 */
export function startJobs(context: Context, startJob: StartJob = startByTimer): Jobs {
  const { config, clock, database, denials, logger, metrics, status, stores, unitOfWork, webhook } = context;
  const { audit: log, webhookLinks: links } = stores;
  const { leaderLease, outages } = database;
  const { auditRetentionDays: days } = config;
  const holdsLease = async (): Promise<boolean> => {
    const isLeader = await leaderLease.acquire();
    metrics.leader({}, isLeader ? 1 : 0);
    return isLeader;
  };
  /** Counts the runs of a job. */
  const metered = (task: Task, work: () => Promise<void>) => async (): Promise<void> => {
    try {
      await work();
      metrics.taskSuccess({ task }, clock.now() / 1000);
      metrics.taskRuns({ task, outcome: 'succeeded' });
    } catch (error) {
      metrics.taskRuns({ task, outcome: 'failed' });
      throw error;
    }
  };
  const refreshScheduler = createRefreshScheduler({ ...context, holdsLease, random: Math.random });
  const prober = createOutageProber({ ...context, tracker: status, outages, links });
  // On PostgreSQL an event is on the disk once it is committed, so no call is sent before.
  const missedUses =
    config.database.kind === 'sqlite'
      ? createMissedUses({ links, log, webhook, unitOfWork, clock, logger })
      : undefined;
  const recovery = missedUses && createMissedUsesRecovery({ links, missedUses, clock, logger });
  const destination = createAuditDelivery({ links, webhook, unitOfWork, missedUses, clock });
  const shipper = createAuditShipper({ log, destination, clock, logger });
  const checkpointing = createCheckpointing(context);
  const completion = createRotationCompletion({ ...context, links });
  const notifications = createNotificationDelivery({ ...context, baseUrl: config.baseUrl });
  const retention = days === undefined ? undefined : createAuditRetention({ ...context, log, days });
  const counting = createActivityCounting({ ...context, auditRetentionDays: days });

  /** @param pauseMs between two runs */
  const each = (name: Task, pauseMs: number, work: () => Promise<void>) =>
    startJob(name, metered(name, work), { pauseMs, logger });
  const once = (name: Task, pauseMs: number, work: () => Promise<void>) => {
    const run = metered(name, work);
    return startJob(
      name,
      async () => {
        if (await holdsLease()) await run();
      },
      { pauseMs, logger },
    );
  };
  const jobs = [
    each('denial counts', 5_000, () => denials.flush()),
    each('withdrawn uses', 1_000, context.ongoingUses.endWithdrawn),
    each('waiting requests', POLL_MS, context.waiters.poll),
    // The scheduler itself works once a minute.
    each('token refresh', 500, refreshScheduler.tick),
    each('webhook probes', 200, prober.tick),
    each('ended limits', 1_000, async () => context.evictExpiredLimits()),
    once('audit shipping', 250, shipper.ship),
    once('audit checkpoints', 1_000, checkpointing.round),
    // Not at once: a webhook that starts together with this process would count as offline.
    ...(recovery === undefined ? [] : [once('missed uses', 5_000, recovery.run)]),
    once('key rotation', 5_000, completion.run),
    once('proxy removals', 1_000, createProxyConfigRemoval(context).run),
    once('notifications', 500, notifications.run),
    once('ended approvals', 60_000, () => removeEndedApprovals(stores, clock)),
    once('ended sign-ins', 60_000, () => evictExpiredSignIns(stores, clock)),
    once('unused clients', 60_000, () => evictUnusedClients(stores, clock)),
    once('activity counts', 1_000, counting.count),
    once('old activity counts', 60_000, counting.removeOld),
    ...(retention === undefined ? [] : [once('audit retention', 5 * 60_000, retention.run)]),
  ];
  const end = async (): Promise<void> => {
    context.waiters.end();
    retention?.stop();
    counting.stop();
    recovery?.stop();
    const ended = Promise.all([
      refreshScheduler.stop(),
      prober.stop(),
      notifications.stop(),
      checkpointing.stop(),
      ...jobs.map((job) => job.stop()),
    ]);
    await Promise.race([ended, delay(STOP_WITHIN_MS, undefined, { ref: false })]);
    await shipper.stop();
  };
  let ending: Promise<void> | undefined;
  return {
    leave: () => void (ending ??= end()),
    stop: async () => {
      await (ending ??= end());
      // Without the release another process takes over all the same, only later.
      await leaderLease.release().catch(() => undefined);
      await denials
        .flush(true)
        .catch((error: unknown) => logger.error({ err: error }, 'counted denials could not be written'));
    },
  };
}
