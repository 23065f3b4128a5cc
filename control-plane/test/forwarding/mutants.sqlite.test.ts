import { afterAll, beforeAll, expect, it } from 'vitest';
import { type MutantTargets, startMutantTargets } from '../support/proxy-mutants.ts';

// Five hundred of R8's million; `npm run test:hard` sends them all.

let targets: MutantTargets;
beforeAll(async () => {
  targets = await startMutantTargets();
});
afterAll(() => targets.stop());

it.each([
  ['let through go on byte for byte', false, 150],
  ['above the limits are denied under their own ids', true, 350],
])('mutants that are %s', async (_what, limited, count) => {
  const { findings, statuses } = await targets.send(limited, { seed: 8, count });
  expect(findings).toEqual([]);
  const expected = limited ? [429] : [200, 404];
  expect([...statuses.keys()].filter((status) => !expected.includes(status))).toEqual([]);
  expect(statuses.get(limited ? 429 : 200)).toBeGreaterThan(count * 0.8);
  expect(await targets.ready()).toEqual([200, 200]);
});
