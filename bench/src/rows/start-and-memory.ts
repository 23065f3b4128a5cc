import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Pair } from '@svault/compose/pair';
import { residentMb } from '../machine.ts';
import type { Row } from '../report.ts';
import { rowOf } from '../rounds.ts';
import { settle } from '../server-process.ts';
import { TARGETS } from '../targets.ts';
import { pidOf } from './control-plane.ts';

const PROGRAMS = ['control-plane', 'webhook'] as const;

interface Start {
  readonly tookMs: number;
  readonly residentMb: number;
}

/**
 * Restarts both programs of the pair on their own files: time to `/readyz`, then memory once they are at rest. Each round has a first
 * start, with no compiled code on the disk, and one after it.
 * @param dir the pair's
 */
export async function startAndIdleMemory(pair: Pair, dir: string, rounds: number): Promise<readonly Row[]> {
  const startBoth = async (): Promise<readonly Start[]> => {
    const tookMs: number[] = [];
    for (const name of PROGRAMS) {
      await pair.process(name).stop();
      const startedAt = performance.now();
      await pair.restart(name);
      tookMs.push(performance.now() - startedAt);
    }
    const pids = PROGRAMS.map((name) => pidOf(pair, name));
    await settle(pids);
    return pids.map((pid, at) => ({ tookMs: tookMs[at] ?? Number.NaN, residentMb: residentMb(pid) }));
  };
  const [first, later]: [(readonly Start[])[], (readonly Start[])[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    rmSync(join(dir, 'compiled'), { recursive: true, force: true });
    first.push(await startBoth());
    later.push(await startBoth());
  }
  const memoryOf = (starts: readonly (readonly Start[])[], at: number): number[] =>
    starts.map((both) => both[at]?.residentMb ?? Number.NaN);
  return [
    ...PROGRAMS.flatMap((name, at) => [
      rowOf(
        `${name}, start to /readyz`,
        TARGETS.start,
        later.map((both) => both[at]?.tookMs ?? Number.NaN),
      ),
      rowOf(`${name}, memory idle`, TARGETS.memoryIdle, memoryOf(later, at)),
      rowOf(`${name}, memory idle at a first start`, TARGETS.memoryIdle, memoryOf(first, at)),
    ]),
    rowOf(
      'both programs, memory idle at a first start',
      TARGETS.memoryIdleOfBoth,
      first.map((both) => both.reduce((sum, each) => sum + each.residentMb, 0)),
    ),
  ];
}
