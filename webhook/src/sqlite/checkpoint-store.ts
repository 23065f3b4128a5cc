import { randomBytes } from 'node:crypto';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { CheckpointStore, CosignedCheckpoint } from '../audit/checkpoints.ts';
import type { SecretWrapper } from '../binding/binding-store.ts';
import type { Rewrappable } from '../vault/master-key-rotation.ts';

const SEED_BYTES = 32;
const SEED_PURPOSE = 'checkpoint-key';
const SELECT = `SELECT origin, size, hash, note, log_key AS logKey, cosigned_at AS cosignedAtMs FROM checkpoints`;

/** Checkpoints and the seed of the key that cosigns them, in the tables of migration 112. */
export function createCheckpointStore(
  db: SqliteDatabase,
  secrets: Pick<SecretWrapper, 'wrap' | 'unwrap'>,
): CheckpointStore {
  const byOrigin = db.prepare<[string], CosignedCheckpoint>(`${SELECT} WHERE origin = ?`);
  const all = db.prepare<[], CosignedCheckpoint>(`${SELECT} ORDER BY cosigned_at DESC, origin`);
  const put = db.prepare<CosignedCheckpoint>(
    `INSERT OR REPLACE INTO checkpoints (origin, size, hash, note, log_key, cosigned_at)
     VALUES (@origin, @size, @hash, @note, @logKey, @cosignedAtMs)`,
  );
  const removeAll = db.prepare('DELETE FROM checkpoints');
  const readSeed = db.prepare<[], Uint8Array>('SELECT seed FROM checkpoint_key').pluck();
  const putSeed = db.prepare<[Uint8Array]>('INSERT INTO checkpoint_key (one, seed) VALUES (1, ?)');
  return {
    last: (origin) => byOrigin.get(origin),
    all: () => all.all(),
    put: (checkpoint) => void put.run(checkpoint),
    removeAll: () => void removeAll.run(),
    seed: () => {
      const wrapped = readSeed.get();
      if (wrapped !== undefined) return secrets.unwrap(wrapped, SEED_PURPOSE);
      const seed = randomBytes(SEED_BYTES);
      putSeed.run(secrets.wrap(seed, SEED_PURPOSE));
      return seed;
    },
  };
}

/** The seed, for a rotation of the root key. */
export function createCheckpointKeyRewrap(db: SqliteDatabase): Rewrappable {
  const read = db.prepare<[], Uint8Array>('SELECT seed FROM checkpoint_key').pluck();
  const put = db.prepare<[Uint8Array]>('UPDATE checkpoint_key SET seed = ?');
  return {
    rewrap: (rewrap, after) => {
      const seed = after === 0 ? read.get() : undefined;
      if (seed === undefined) return undefined;
      const moved = rewrap(seed, SEED_PURPOSE);
      if (moved !== undefined) put.run(moved);
      return 1;
    },
  };
}
