import { CHAIN_START } from '@svault/shared/audit-chain';
import { type AuditHead, type ChainedEntry, type Epoch, entryHash } from './audit-store.ts';

type ChainVerdict =
  | { readonly ok: true; readonly entries: number; readonly epochs: number; readonly head: AuditHead }
  | { readonly ok: false; readonly epoch: string; readonly seq: number; readonly problem: string };

/**
 * Detects a changed, missing, added or reordered entry: each epoch counts from 1 without a gap, each hash follows
 * from the entry and the hash before, and each epoch ends where its head says.
 *
 * A writer of the whole database can forge a whole chain; the control plane detects it by the heads that it saw.
 *
 * @param epochs in the order they were opened
 * @param entries in the order they were written
 */
export function verifyChain(epochs: readonly Epoch[], entries: Iterable<ChainedEntry>): ChainVerdict {
  const remaining = [...epochs];
  let epoch = remaining.shift();
  let head: AuditHead = { epoch: epoch?.epoch ?? '', seq: 0, hash: CHAIN_START };
  let count = 0;
  const broken = (seq: number, problem: string): ChainVerdict => ({
    ok: false,
    epoch: head.epoch,
    seq,
    problem,
  });
  const endsAtHead = (): boolean => epoch?.seq === head.seq && epoch.hash === head.hash;

  for (const { hash, ...entry } of entries) {
    if (entry.epoch !== head.epoch) {
      if (!endsAtHead()) return broken(head.seq + 1, 'entries are missing at the end of this epoch');
      epoch = remaining.shift();
      if (epoch?.epoch !== entry.epoch) return broken(head.seq + 1, 'an entry of another epoch stands here');
      head = { epoch: entry.epoch, seq: 0, hash: CHAIN_START };
    }
    const expected = head.seq + 1;
    if (entry.seq !== expected) return broken(expected, 'this entry is missing or out of order');
    if (entryHash(head.hash, entry) !== hash) return broken(expected, 'this entry was changed');
    head = { epoch: entry.epoch, seq: entry.seq, hash };
    count += 1;
  }
  if (!endsAtHead() || remaining.length > 0) return broken(head.seq + 1, 'entries are missing at the end');
  return { ok: true, entries: count, epochs: epochs.length, head };
}
