import { storeCredential } from '@svault/compose/admin-client';
import { randomToken } from '@svault/shared';
import type { Row } from '../report.ts';
import { type RoundOptions, rowOf } from '../rounds.ts';
import { TARGETS } from '../targets.ts';
import { SERVICE } from './bench-agents.ts';
import { startCluster } from './cluster.ts';
import { controlPlaneContenders } from './control-plane.ts';
import { oneAccountTables } from './one-account.ts';
import { type StateCosts, measureUnitCosts, medianCost, unitCostTables } from './unit-costs.ts';

const COUNTS = [1, 2, 3, 4] as const;
/** Of the row, whose target is for so many. */
const PROCESSES = 3;
/** Of the table that says what it takes. */
const RATE = 100_000;

/**
 * What control planes on one PostgreSQL and one Redis cost and serve, and what one account can have of them. All of them share a core
 * here, so rates are computed of the CPU time that a request takes. Prints the tables of docs/operate/scale.md.
 */
export async function processRows(dir: string, options: RoundOptions): Promise<readonly Row[]> {
  await using started = new AsyncDisposableStack();
  const cluster = await startCluster(dir, COUNTS.length, started);
  await storeCredential(cluster.pair.admin, SERVICE, { tokenType: 'PlainText', value: randomToken() });
  const { credentials } = await controlPlaneContenders(cluster.pair);
  const costs = await measureUnitCosts(cluster, credentials, COUNTS, options);
  console.log(`\n${unitCostTables(costs, RATE)}`);
  console.log(`\n${await oneAccountTables(cluster, options, started)}`);

  const stateOf = (count: number): StateCosts => {
    const found = costs.states.find(({ controlPlanes }) => controlPlanes === count);
    if (found === undefined) throw new Error(`${count} control planes were not measured`);
    return found;
  };
  const [one, several] = [stateOf(1), stateOf(PROCESSES)];
  /** As many a second as the CPU time lets through on a core for each process and one for PostgreSQL. */
  const rates = ({ rounds, controlPlanes }: StateCosts): readonly number[] =>
    rounds.map(({ controlPlane, postgres }) => Math.min(controlPlanes / controlPlane, 1 / postgres));
  const alone = rates(one);
  const shown = (state: StateCosts): string =>
    `${medianCost(state, 'controlPlane').toFixed(0)} µs and PostgreSQL ${medianCost(state, 'postgres').toFixed(0)} µs`;
  return [
    rowOf(
      `credentials, ${PROCESSES} processes to one, computed from CPU`,
      TARGETS.threeProcesses,
      rates(several).map((rate, round) => rate / (alone[round] ?? Number.NaN)),
      `a request takes one process ${shown(one)}, of ${PROCESSES} ${shown(several)}`,
    ),
  ];
}
