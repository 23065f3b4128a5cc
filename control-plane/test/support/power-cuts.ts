import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Instant, type Survives, instantsOf } from '@svault/test-kit/power-cut';
import { quickFolder } from '@svault/test-kit/quick-folder';
import { inDatabase } from './database-files.ts';

/** Of the instants at which nothing is promised anew, one of so many is tried. */
const TRIED_OF_OTHERS = 100;
/** More say no more. */
const MAX_LOSSES = 20;

/** A program's database before it was recorded, and the files that the record changes. */
export function databaseBefore(path: string): ReadonlyMap<string, Buffer> {
  return new Map([
    [path, readFileSync(path)],
    [`${path}-wal`, Buffer.alloc(0)],
  ]);
}

/**
 * Cuts the power at the instants of a program's record: whenever it is about to promise something, and at others.
 *
 * @param options.promisedBy what the bytes that it sends promise, by name
 * @param options.kept a query for the names of what its database holds, and how often
 * @returns `lost`: what was promised, and not on the disk after some cut, one line each; `checkpoints` of SQLite's log
 */
export async function lossesOf(options: {
  readonly record: string;
  readonly before: ReadonlyMap<string, Buffer>;
  readonly promisedBy: (sending: Buffer) => readonly string[];
  readonly kept: string;
}) {
  const { record, before, promisedBy, kept } = options;
  const promised = new Map<string, number>();
  const lost: string[] = [];
  const [database] = before.keys();
  const folder = quickFolder();
  let [instants, cuts, checkpoints] = [0, 0, 0];
  const cut = ({ files }: Instant, survives: Survives): void => {
    cuts += 1;
    const found = keptIn(folder, files(survives), kept);
    if (typeof found === 'string') return void lost.push(found);
    for (const [name, times] of promised)
      if ((found.get(name) ?? 0) < times)
        lost.push(`${name}: ${times} promised, ${found.get(name) ?? 0} kept`);
  };
  for await (const instant of instantsOf(record, before)) {
    const names = instant.sending === undefined ? [] : promisedBy(instant.sending);
    for (const name of names) promised.set(name, (promised.get(name) ?? 0) + 1);
    const ofCheckpoint = instant.synced === database;
    if (ofCheckpoint) checkpoints += 1;
    if (names.length === 0 && !ofCheckpoint && ++instants % TRIED_OF_OTHERS !== 0) continue;
    if (lost.length >= MAX_LOSSES) break;
    cut(instant, () => false);
    cut(instant, someBlocks(cuts));
  }
  const total = [...promised.values()].reduce((sum, times) => sum + times, 0);
  return { lost, promised: total, cuts, checkpoints };
}

/** Of a database's files as a power cut left them; what is wrong with them where they are no sound database. */
function keptIn(
  folder: string,
  files: ReadonlyMap<string, Buffer>,
  query: string,
): ReadonlyMap<string, number> | string {
  const [main = ''] = files.keys();
  for (const [path, content] of files) writeFileSync(join(folder, basename(path)), content);
  return inDatabase(join(folder, basename(main)), (db) => {
    const verdict = String(db.pragma('integrity_check', { simple: true }));
    if (verdict !== 'ok') return verdict;
    const rows = db.prepare<[], { name: string; times: number }>(query).all();
    return new Map(rows.map(({ name, times }) => [name, times]));
  });
}

/** About half of all blocks, the same ones for the same seed. */
function someBlocks(seed: number): Survives {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state < 0;
  };
}
