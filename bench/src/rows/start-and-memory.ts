import type { Pair } from '@svault/compose/pair';
import { residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import { median } from '../rounds.ts';
import { settle } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { pidOf } from './control-plane.ts';

const PROGRAMS = ['control-plane', 'webhook'] as const;

/** Restarts each program of the pair on its own files: time to `/readyz`, then memory once it is at rest. */
export async function startAndIdleMemory(pair: Pair, rounds: number): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const name of PROGRAMS) {
    const startsMs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await pair.process(name).stop();
      const startedAt = performance.now();
      await pair.restart(name);
      startsMs.push(performance.now() - startedAt);
    }
    await settle([pidOf(pair, name)]);
    rows.push(
      { name: `${name}, start to /readyz`, value: median(startsMs), target: TARGETS.start },
      { name: `${name}, memory idle`, value: residentMb(pidOf(pair, name)), target: TARGETS.memoryIdle },
    );
  }
  return rows;
}
