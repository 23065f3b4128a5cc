import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Id } from '@svault/shared';
import { type ChainBreak, type ChainHead, followChain } from '@svault/shared/audit-chain';
import type { AuditEvent } from '../core/audit-event.ts';
import type { AuditStore } from '../core/audit-store.ts';

type LogVerdict =
  | { readonly intact: true; readonly events: number; readonly head: ChainHead }
  | ({ readonly intact: false } & ChainBreak);

/** Events per step: a few milliseconds, between which requests are served. */
const PAGE = 500;

/**
 * Verifies a vault's chain from its start to its head, and that no event precedes the start or follows the head. It ignores
 * events that are written meanwhile, and tolerates that retention removes events meanwhile.
 */
export async function verifyLog(
  log: Pick<AuditStore, 'after' | 'chainOf'>,
  vaultId: Id<'vlt'>,
): Promise<LogVerdict> {
  const { start, head } = await log.chainOf(vaultId);
  const [oldest] = await log.after(vaultId, Number.MIN_SAFE_INTEGER, 1);
  if (oldest !== undefined && oldest.seq <= start.seq) return added(oldest);
  let at = start;
  let events = 0;
  while (at.seq < head.seq) {
    const page = await log.after(vaultId, at.seq, Math.min(PAGE, head.seq - at.seq));
    const reached = page.length === 0 ? cutBehind(at) : followChain(at, page);
    if ('problem' in reached) {
      const movedTo = (await log.chainOf(vaultId)).start;
      // Retention that has not passed the break did not cause it.
      if (movedTo.seq <= at.seq) return { intact: false, ...reached };
      at = movedTo;
    } else {
      events += page.length;
      at = reached;
    }
    // SQLite answers within the turn, so without this no other request would be served until the end of the chain.
    await nextTurn();
  }
  if (at.seq === head.seq && at.hash !== head.hash)
    return { intact: false, seq: head.seq, problem: 'changed' };
  const [next] = await log.after(vaultId, head.seq, 1);
  // The control plane writes an event and the new head in one transaction.
  if (next !== undefined && next.seq > (await log.chainOf(vaultId)).head.seq) return added(next);
  return { intact: true, events, head };
}

/**
 * Verifies each vault's log in one run at a time: calls during a run share the next one. However often an account asks, it
 * costs the other accounts one run.
 */
export function createLogVerification(
  log: Pick<AuditStore, 'after' | 'chainOf'>,
): (vaultId: Id<'vlt'>) => Promise<LogVerdict> {
  const inHand = new Map<Id<'vlt'>, Promise<LogVerdict>>();
  const waiting = new Map<Id<'vlt'>, Promise<LogVerdict>>();

  const begin = (vaultId: Id<'vlt'>): Promise<LogVerdict> => {
    waiting.delete(vaultId);
    const run = verifyLog(log, vaultId).finally(() => inHand.delete(vaultId));
    inHand.set(vaultId, run);
    return run;
  };

  return (vaultId) => {
    const current = inHand.get(vaultId);
    if (current === undefined) return begin(vaultId);
    const next = waiting.get(vaultId) ?? current.then(ended, ended).then(() => begin(vaultId));
    waiting.set(vaultId, next);
    return next;
  };
}

const ended = (): void => undefined;
const added = ({ seq }: AuditEvent): LogVerdict => ({ intact: false, seq, problem: 'added' });
const cutBehind = ({ seq }: ChainHead): ChainBreak => ({ seq: seq + 1, problem: 'cut' });
