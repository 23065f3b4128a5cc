/** Where a webhook says its own log stands (protocol.md 5.3). */
export interface LogHead {
  /** Random, new after each restore from a backup. */
  readonly epoch: string;
  readonly seq: number;
  readonly hash: string;
}

export type LogContradiction = 'EPOCH_CHANGED' | 'LOG_SHORTENED' | 'HASH_CHANGED';

/**
 * Compares the head a webhook shows with the last one seen: within an epoch `seq` only grows and an equal `seq`
 * means an equal `hash`. A new epoch is what a restore looks like, and what a rewritten log would claim to be.
 */
export function contradictionBetween(
  known: LogHead | undefined,
  seen: LogHead,
): LogContradiction | undefined {
  if (known === undefined) return undefined;
  if (seen.epoch !== known.epoch) return 'EPOCH_CHANGED';
  if (seen.seq < known.seq) return 'LOG_SHORTENED';
  if (seen.seq === known.seq && seen.hash !== known.hash) return 'HASH_CHANGED';
  return undefined;
}
