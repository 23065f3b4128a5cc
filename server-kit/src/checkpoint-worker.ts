import { workerData, parentPort as parent } from 'node:worker_threads';
import Database from 'better-sqlite3';

if (parent === null) throw new Error('this module runs in a worker thread');
const { databasePath, intervalMs } = workerData as { databasePath: string; intervalMs: number };
const db = new Database(databasePath, { timeout: 0 });
db.pragma('wal_autocheckpoint = 0');

interface Progress {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}
let framesBefore = -1;

/** A busy or failing checkpoint is no fault: the next round tries again. */
function checkpoint(): void {
  try {
    const [passive] = db.pragma('wal_checkpoint(PASSIVE)') as Progress[];
    const idle = passive !== undefined && passive.log === framesBefore && passive.log > 0;
    framesBefore = passive?.log ?? -1;
    if (idle && passive.checkpointed === passive.log) db.pragma('wal_checkpoint(TRUNCATE)');
  } catch {
    framesBefore = -1;
  }
}

const timer = setInterval(checkpoint, intervalMs);
parent.once('message', () => {
  clearInterval(timer);
  db.close();
  parent?.close();
});
