import { databaseBytes } from '@svault/server-kit/database-bytes';
import { createSingleFlight } from '@svault/server-kit/single-flight';
import { parseTime } from '@svault/shared';
import type { Context } from './context.ts';

type Queues = Awaited<ReturnType<Context['database']['queues']>>;

/** What is read when somebody asks for the metrics. @param isLeaving whether the program is about to stop */
export function startReadings(
  { config, clock, database, metrics, status, streams }: Context,
  isLeaving: () => boolean,
): void {
  const once = createSingleFlight<Queues>();
  const queues = (): Promise<Queues> => once('', database.queues);
  metrics.ready(async () => {
    const answers = database.answers().then(
      () => true,
      () => false,
    );
    return [[{}, !isLeaving() && (await answers) ? 1 : 0]];
  });
  metrics.offlineWebhooks(() => [[{}, status.offlineCount()]]);
  metrics.proxyStreams(() => [[{}, streams.count()]]);
  metrics.undeliveredEvents(async () => [[{}, (await queues()).undeliveredEvents]]);
  metrics.undeliveredAge(async () => {
    const { oldestUndeliveredAt } = await queues();
    const sinceMs = parseTime(oldestUndeliveredAt ?? '') ?? clock.now();
    return [[{}, Math.max(clock.now() - sinceMs, 0) / 1000]];
  });
  metrics.queuedNotifications(async () => [[{}, (await queues()).notifications]]);
  metrics.openApprovals(async () => [[{}, (await queues()).pendingApprovals]]);
  metrics.connections(() =>
    database
      .connections()
      .flatMap(({ pool, busy, idle }) => [
        [{ pool, state: 'busy' }, busy] as const,
        [{ pool, state: 'idle' }, idle] as const,
      ]),
  );
  metrics.connectionWaiters(() =>
    database.connections().map(({ pool, waiting }) => [{ pool }, waiting] as const),
  );
  const { kind } = config.database;
  if (kind === 'sqlite') metrics.databaseBytes(databaseBytes(config.database.path));
}
