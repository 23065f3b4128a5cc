import { AeadFailed } from '@svault/server-kit/aead';
import { createMasterKeys } from '@svault/server-kit/master-keys';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Keyring } from './keyring.ts';
import { type MasterKeyStore, isMasterKeyOf, newMasterKeyEntry } from './master-key.ts';

/** Rewraps one value under the newest root key; undefined if it is under that one already. */
type Rewrap = (wrapped: Uint8Array, purpose: string) => Uint8Array | undefined;

/** A store of values that are wrapped under the root key, all of which a rotation rewraps. */
export interface Rewrappable {
  /**
   * Moves the next values, in ascending order of row, inside the open transaction.
   *
   * @param after the last row of the former call, 0 at first
   * @param limit at most so many rows are looked at
   * @returns the last row that was looked at, undefined when none is left
   */
  rewrap(move: Rewrap, after: number, limit: number): number | undefined;
}

/** How many rows are moved in one transaction: short enough for a serve to write in between. */
const BATCH_ROWS = 200;
/** Between two reports of progress: 10,000 values, a few seconds. */
const PROGRESS_BATCHES = 50;

/** The rotation cannot go on as asked. Nothing was changed. */
export class RotationRefused extends Error {
  override readonly name = 'RotationRefused';
}

interface MasterKeyRotation {
  readonly store: MasterKeyStore;
  readonly keyring: Keyring;
  readonly rewrappables: readonly Rewrappable[];
  readonly audit: Pick<AuditLog, 'appendNow'>;
  /** Runs synchronous work in one immediate transaction. */
  readonly transact: <T>(work: () => T) => T;
  /** Lets other processes write between two batches. */
  readonly pause: () => Promise<void>;
  /** Told after every {@link PROGRESS_BATCHES} how many values are under the next key by then. */
  readonly onProgress?: (values: number) => void;
  /** Rows in one transaction, {@link BATCH_ROWS} unless given. */
  readonly batchRows?: number;
}

/**
 * Rewraps everything from the current root key to the next one, while a serve may run, which reads with both keys and
 * writes with the next one from the first step on. After a kill at any point the same call continues where it stopped.
 *
 * Afterwards the next key is the current one, and its link remains until a serve has taken the key over.
 *
 * @returns `already` when an earlier call had finished
 * @throws RotationRefused if another rotation is under way
 */
export async function rotateMasterKey(
  rotation: MasterKeyRotation,
  next: Uint8Array,
): Promise<'rotated' | 'already'> {
  const { rewrappables, transact, pause, onProgress, batchRows = BATCH_ROWS } = rotation;
  if (!transact(() => beginNow(rotation, next))) return 'already';
  const move = moverTo(next, rotation.keyring);
  let [batches, values] = [0, 0];
  for (const rewrappable of rewrappables) {
    let batch: Batch = { last: 0, looked: batchRows };
    // A short batch is the last: a later value is under the next key, or the final pass finds it.
    while (batch.last !== undefined && batch.looked === batchRows) {
      const after = batch.last;
      batch = transact(() => moveBatchNow(rewrappable, move, after, batchRows));
      values += batch.looked;
      if ((batches += 1) % PROGRESS_BATCHES === 0) onProgress?.(values);
      await pause();
    }
  }
  transact(() => finishNow(rotation, move));
  return 'rotated';
}

/** @returns false when the next key is the current one already, by a rotation that finished */
function beginNow({ store, keyring }: MasterKeyRotation, next: Uint8Array): boolean {
  const entries = store.list();
  const current = entries.find(({ state }) => state === 'current');
  const underWay = entries.find(({ state }) => state === 'next');
  if (underWay !== undefined) {
    if (isMasterKeyOf(underWay, next)) return true;
    throw new RotationRefused('a rotation to another key is under way: give that one as the next key');
  }
  if (current !== undefined && isMasterKeyOf(current, next)) return false;
  store.add(
    newMasterKeyEntry(next, { state: 'next', wrapLink: (key, purpose) => keyring.wrap(key, purpose) }),
  );
  return true;
}

interface Batch {
  readonly last: number | undefined;
  readonly looked: number;
}

function moveBatchNow(rewrappable: Rewrappable, move: Rewrap, after: number, limit: number): Batch {
  let looked = 0;
  const counting: Rewrap = (wrapped, purpose) => {
    looked += 1;
    return move(wrapped, purpose);
  };
  const last = rewrappable.rewrap(counting, after, limit);
  return { last, looked };
}

/** A final pass over everything, and the next key is the only one. */
function finishNow({ store, rewrappables, audit }: MasterKeyRotation, move: Rewrap): void {
  for (const rewrappable of rewrappables) {
    let after: number | undefined = 0;
    while (after !== undefined) after = rewrappable.rewrap(move, after, BATCH_ROWS);
  }
  store.promoteNext();
  audit.appendNow({ eventType: 'MASTER_KEY_ROTATED', outcome: 'success' });
}

function moverTo(next: Uint8Array, keyring: Keyring): Rewrap {
  const target = createMasterKeys([next]);
  return (wrapped, purpose) => {
    try {
      target.unwrap(wrapped, purpose);
      return undefined;
    } catch (error) {
      if (!(error instanceof AeadFailed)) throw error;
      return target.wrap(keyring.unwrap(wrapped, purpose), purpose);
    }
  };
}
