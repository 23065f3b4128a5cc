import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Id } from '@svault/shared';
import { type AuditEvent, isCredentialRequest } from '../core/audit-event.ts';
import type { AuditStore } from '../core/audit-store.ts';

/** The newest credential requests of a vault's log. */
export interface RecentRequests {
  /** Newest first. An event may stand for several requests (`count`). */
  readonly events: readonly AuditEvent[];
  /** The time of the oldest row that was read; undefined for an empty log. */
  readonly since: string | undefined;
  /** Whether the log holds no older request. */
  readonly isComplete: boolean;
}

const MAX_EVENTS = 1_000;
/** Rows per scan, a millisecond or two, and scans: of a log with few requests the newest part is read. */
const ROWS_PER_SCAN = 500;
const MAX_SCANS = 10;

/** Reads the newest requests of agents and proxies, at most 1,000 events among the newest 5,000 of the log. */
export async function readRecentRequests(
  log: Pick<AuditStore, 'scan'>,
  vaultId: Id<'vlt'>,
): Promise<RecentRequests> {
  const events: AuditEvent[] = [];
  let since: string | undefined;
  let before: number | undefined;
  for (let scans = 0; scans < MAX_SCANS; scans++) {
    if (scans > 0) await nextTurn();
    const { events: rows, reached } = await log.scan(vaultId, {}, { limit: ROWS_PER_SCAN, before });
    for (const event of rows) {
      if (events.length === MAX_EVENTS) return { events, since, isComplete: false };
      if (isCredentialRequest(event)) events.push(event);
      since = event.timestamp;
    }
    if (reached === undefined) return { events, since, isComplete: true };
    before = reached;
  }
  return { events, since, isComplete: false };
}
