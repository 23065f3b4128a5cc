import type { Id } from '@svault/shared';
import type { ChainHead } from '@svault/shared/audit-chain';
import type { AuditEvent } from '../core/audit-event.ts';
import type { AuditStore } from '../core/audit-store.ts';

/** An event with the hash of the one before, by which its own is verified; undefined where that one is missing. */
export interface LinkedEvent extends AuditEvent {
  readonly previousHash?: string | undefined;
}

/** The events above a number, oldest first. */
export async function linkedEventsAfter(
  log: Pick<AuditStore, 'after' | 'chainOf'>,
  vaultId: Id<'vlt'>,
  seq: number,
  limit: number,
): Promise<readonly LinkedEvent[]> {
  const events = await log.after(vaultId, seq - 1, limit + 1);
  const [first] = events;
  const above = events.filter((event) => event.seq > seq).slice(0, limit);
  if (first === undefined || above.length === 0) return [];
  let previous: ChainHead = first.seq === seq ? first : (await log.chainOf(vaultId)).start;
  return above.map((event) => {
    const { seq: before, hash: previousHash } = previous;
    previous = event;
    return event.seq === before + 1 ? { ...event, previousHash } : event;
  });
}
