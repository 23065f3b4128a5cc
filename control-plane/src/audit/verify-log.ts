import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Id } from '@svault/shared';
import type { AuditStore } from './audit-store.ts';
import { type ChainBreak, type ChainHead, followChain } from './chain.ts';

export type LogVerdict =
  | { readonly intact: true; readonly events: number; readonly head: ChainHead }
  | ({ readonly intact: false } & ChainBreak);

/** Events per step: a few milliseconds, between which requests are served. */
const PAGE = 500;

/**
 * Follows a vault's chain from its oldest kept event to the head that stands beside it, and says where it breaks.
 * Events that are written meanwhile are not looked at.
 */
export async function verifyLog(
  log: Pick<AuditStore, 'after' | 'chainOf'>,
  vaultId: Id<'vlt'>,
): Promise<LogVerdict> {
  const { start, head } = await log.chainOf(vaultId);
  let at = start;
  while (at.seq < head.seq) {
    const page = await log.after(vaultId, at.seq, Math.min(PAGE, head.seq - at.seq));
    if (page.length === 0) return { intact: false, seq: at.seq + 1, problem: 'cut' };
    const reached = followChain(at, page);
    if ('problem' in reached) return { intact: false, ...reached };
    at = reached;
    // The database answers within the turn, so without this nobody else would be served before the end of the chain.
    await nextTurn();
  }
  if (at.hash !== head.hash) return { intact: false, seq: head.seq, problem: 'changed' };
  return { intact: true, events: head.seq - start.seq, head };
}
