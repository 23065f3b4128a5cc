import { afterAll, beforeAll, expect, it } from 'vitest';
import { type MutantTargets, startMutantTargets } from '../support/proxy-mutants.ts';

// R8: a million mutants at the proxies' door, a quarter of them let through and the others limited.

const MILLION = 1_000_000;
const PARTS = 20;

let targets: MutantTargets;
beforeAll(async () => {
  targets = await startMutantTargets();
});
afterAll(() => targets.stop());

it.each(Array.from({ length: PARTS }, (_, part) => part))(
  'never a 5xx or a crash, and what is denied has its id and the type of it (part %i)',
  async (part) => {
    const run = { seed: 2_000 + part, count: MILLION / PARTS };
    expect((await targets.send(part % 4 !== 0, run)).findings).toEqual([]);
    expect(await targets.ready()).toEqual([200, 200]);
  },
  900_000,
);
