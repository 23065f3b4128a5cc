import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Id } from '@svault/shared';
import { type Page, cursorOf, pageOf } from '../core/paging.ts';
import type { AuditEvent } from '../core/audit-event.ts';
import type { AuditFilter, AuditStore } from '../core/audit-store.ts';

/** Looks per page: about a tenth of a second's work, between which others are served. */
const MAX_LOOKS = 50;

/**
 * A page of a vault's log, newest first. Where a filter fits little of a long log, a page may hold fewer events than
 * asked for, or none, and still have a cursor: whoever keeps passing it sees everything.
 *
 * @param before only events with a lower number
 */
export async function findEvents(
  log: Pick<AuditStore, 'look'>,
  vaultId: Id<'vlt'>,
  filter: AuditFilter,
  { limit, before }: { readonly limit: number; readonly before: number | undefined },
): Promise<Page<AuditEvent>> {
  const found: AuditEvent[] = [];
  let from = before;
  for (let looks = 0; looks < MAX_LOOKS && found.length <= limit; looks++) {
    if (looks > 0) await nextTurn();
    const page = { limit: limit + 1 - found.length, before: from };
    const { events, reached } = await log.look(vaultId, filter, page);
    found.push(...events);
    if (reached === undefined) return pageOf(found, limit, keyOf);
    from = reached;
  }
  return found.length > limit
    ? pageOf(found, limit, keyOf)
    : { items: found, nextCursor: cursorOf([String(from)]) };
}

const keyOf = ({ seq }: AuditEvent): readonly string[] => [String(seq)];
