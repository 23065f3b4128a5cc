import { databaseBytes } from '@svault/server-kit/database-bytes';
import type { Context } from './context.ts';

/** What is read when somebody asks for the metrics. @param isLeaving whether the program is about to stop */
export function startReadings(
  { metrics, path, clock, floor, auditStore, bindFlow, isReady }: Context,
  isLeaving: () => boolean,
): void {
  metrics.ready(async () => [[{}, !isLeaving() && (await isReady().catch(() => false)) ? 1 : 0]]);
  metrics.databaseBytes(databaseBytes(path));
  metrics.bound(() => [[{}, bindFlow.isBound() ? 1 : 0]]);
  metrics.logEvents(() => [[{}, auditStore.head()?.seq ?? 0]]);
  metrics.clockBehind(() => [[{}, Math.max(floor.nowMs() - clock.now(), 0) / 1000]]);
}
