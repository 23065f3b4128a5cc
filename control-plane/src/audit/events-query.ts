import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Id } from '@svault/shared';
import type { AuditEvent } from '../core/audit-event.ts';
import type { AuditFilter, AuditStore } from '../core/audit-store.ts';
import { type Page, cursorOf, pageOf } from '../core/paging.ts';

/** Scans per page: less than a tenth of a second's work, between which other requests are served. */
const MAX_SCANS = 25;

/**
 * A page of a vault's log, newest first. Where few events of a long log match the filter, a page may hold fewer events than
 * requested, or none, and still have a cursor: a caller that follows the cursors sees every event.
 *
 * @param before only events with a lower number
 */
export async function findEvents(
  log: Pick<AuditStore, 'scan'>,
  vaultId: Id<'vlt'>,
  filter: AuditFilter,
  { limit, before }: { readonly limit: number; readonly before: number | undefined },
): Promise<Page<AuditEvent>> {
  const found: AuditEvent[] = [];
  let from = before;
  for (let scans = 0; scans < MAX_SCANS && found.length <= limit; scans++) {
    if (scans > 0) await nextTurn();
    const page = { limit: limit + 1 - found.length, before: from };
    const { events, reached } = await log.scan(vaultId, filter, page);
    found.push(...events);
    if (reached === undefined) return pageOf(found, limit, keyOf);
    from = reached;
  }
  return found.length > limit
    ? pageOf(found, limit, keyOf)
    : { items: found, nextCursor: cursorOf([String(from)]) };
}

const keyOf = ({ seq }: AuditEvent): readonly string[] => [String(seq)];
