// Plain JavaScript, since a worker that strips types loads a second compiler: 30 MB for forty lines.
// oxlint-disable typescript/no-unsafe-assignment -- no types here to check
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

/** @type {{ databasePath: string, intervalMs: number, quietRounds: number }} */
const { databasePath, intervalMs, quietRounds } = workerData;
const db = new Database(databasePath, { timeout: 0 });
db.pragma('wal_autocheckpoint = 0');
db.pragma('fullfsync = ON');

let framesBefore = -1;
let roundsQuiet = 0;

/** A busy or failing checkpoint is no fault: the next round tries again. */
function checkpoint() {
  try {
    const [{ log, checkpointed }] = db.pragma('wal_checkpoint(PASSIVE)');
    roundsQuiet = log === framesBefore ? roundsQuiet + 1 : 0;
    framesBefore = log;
    if (roundsQuiet < quietRounds || checkpointed !== log) return;
    const [{ busy }] = db.pragma('wal_checkpoint(TRUNCATE)');
    if (busy === 0) end();
  } catch {
    framesBefore = -1;
  }
}

/** When the log is empty, or the program stops: a thread that has nothing to do takes memory, and 40 ms of CPU to start anew. */
function end() {
  clearInterval(timer);
  db.close();
  parentPort.close();
}

const timer = setInterval(checkpoint, intervalMs);
parentPort.once('message', end);
