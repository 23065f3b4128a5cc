import { setTimeout as delay } from 'node:timers/promises';
import { runLoad } from '../load.ts';
import { cpuSecondsOf, cpuSecondsOfFamily } from '../machine.ts';
import { columns, spreadOf } from '../report.ts';
import { type Contender, type RoundOptions, median } from '../rounds.ts';
import { settle } from '../server-process.ts';
import type { Cluster } from './cluster.ts';

/** CPU microseconds of each program, transactions that write, and bytes of PostgreSQL's write-ahead log. */
interface Costs {
  readonly controlPlane: number;
  readonly postgres: number;
  readonly redis: number;
  readonly webhook: number;
  readonly commits: number;
  readonly walBytes: number;
}

/** What requests cost until they are answered, with one number of control planes. */
export interface StateCosts {
  readonly controlPlanes: number;
  readonly rounds: readonly Costs[];
  /** To PostgreSQL, of all control planes: the most. */
  readonly connections: number;
}

interface UnitCosts {
  readonly states: readonly StateCosts[];
  /** Of whole fetches by as many control planes as the last state has. */
  readonly fetches: readonly Costs[];
  /** Of an event after that: shipping and counting the log, which one control plane does for all. */
  readonly background: readonly Costs[];
}

const FIGURES = ['controlPlane', 'postgres', 'redis', 'webhook', 'commits', 'walBytes'] as const;
type Figure = (typeof FIGURES)[number];

/** What the programs use at rest is subtracted from what background work does. */
const REST_SECONDS = 10;
/** Until each program, and each connection of PostgreSQL, has compiled and planned what it runs. */
const WARM_UP_SECONDS = 6;
const MAX_WORK_MS = 180_000;
const POLL_MS = 200;
/** More events than any run writes. */
const FAR_AHEAD = 1e12;

/**
 * What a 307 costs with each number of control planes, and of the webhook what a whole fetch does. Background work waits until the
 * requests are answered, so that it is measured apart; it is done for the fetches alone, since a webhook takes no more than so many
 * events (PROTOCOL.md STO-38).
 */
export async function measureUnitCosts(
  cluster: Cluster,
  credentials: Contender,
  counts: readonly number[],
  options: RoundOptions,
): Promise<UnitCosts> {
  const { pair, members, sql } = cluster;
  const pids = [...members.map(({ pid }) => pid), cluster.webhookPid];
  const redirectsTo = { url: pair.webhookUrl, expectedStatus: 200 };
  const load = async (count: number, seconds: number, whole = false): Promise<number> => {
    const runs = members.slice(0, count).map(({ url }) => {
      const source = credentials.prepare();
      return runLoad({ ...credentials, ...options, seconds, url, source, ...(whole && { redirectsTo }) });
    });
    return (await Promise.all(runs)).reduce((sum, run) => sum + run.answered, 0);
  };
  /** @returns what a request cost, and how many there were */
  const requests = async (count: number, whole = false) => {
    await settle(pids);
    await holdBackgroundWork(cluster);
    const before = await totals(cluster);
    const answered = await load(count, options.seconds, whole);
    return { costs: difference(before, await totals(cluster), answered), answered };
  };

  const most = counts.at(-1) ?? 1;
  // Before any load: what that leaves to collect is no rest.
  await untilWorkIsDone(cluster);
  await settle(pids);
  const [restFrom, restAt] = [await totals(cluster), performance.now()];
  await delay(REST_SECONDS * 1_000);
  const atRest = difference(restFrom, await totals(cluster), performance.now() - restAt);
  for (const whole of [false, true]) await load(most, WARM_UP_SECONDS, whole);
  await untilWorkIsDone(cluster);

  const states = counts.map((controlPlanes) => ({ controlPlanes, rounds: [] as Costs[], connections: 0 }));
  const [fetches, background]: readonly [Costs[], Costs[]] = [[], []];
  for (let round = 0; round < options.rounds; round++) {
    for (const state of states) {
      state.rounds.push((await requests(state.controlPlanes)).costs);
      state.connections = Math.max(state.connections, await connectionsOf(cluster));
      await sql.query(SKIP);
    }
    const { costs, answered } = await requests(most, true);
    fetches.push(costs);
    const [loaded, loadedAt] = [await totals(cluster), performance.now()];
    await sql.query(AHEAD, [-FAR_AHEAD]);
    await untilWorkIsDone(cluster);
    const forMs = performance.now() - loadedAt;
    const worked = difference(loaded, await totals(cluster), answered);
    background.push(costsOf((figure) => worked[figure] - (atRest[figure] * forMs) / answered));
  }
  return { states, fetches, background };
}

/** Background work of the events that are written from now on waits. */
export const holdBackgroundWork = ({ sql }: Cluster) => sql.query(AHEAD, [FAR_AHEAD]);
const AHEAD = 'UPDATE audit_chains SET shipped_seq = shipped_seq + $1, counted_seq = counted_seq + $1';
const SKIP = 'UPDATE audit_chains SET shipped_seq = head_seq, counted_seq = head_seq';

async function connectionsOf({ sql }: Cluster): Promise<number> {
  const { rowCount } = await sql.query(
    "SELECT 1 FROM pg_stat_activity WHERE application_name = 'svault control-plane'",
  );
  return rowCount ?? 0;
}

/** @throws Error where events still wait after minutes: the webhook takes no more for now */
async function untilWorkIsDone({ sql }: Cluster): Promise<void> {
  for (let waitedMs = 0; waitedMs < MAX_WORK_MS; waitedMs += POLL_MS) {
    const { rowCount } = await sql.query(
      `SELECT 1 FROM audit_chains LEFT JOIN webhook_links w USING (vault_id)
       WHERE counted_seq < head_seq OR (w.vault_id IS NOT NULL AND shipped_seq < head_seq)`,
    );
    if (rowCount === 0) return;
    await delay(POLL_MS);
  }
  throw new Error('the log was not shipped: take fewer rounds, or shorter ones');
}

const costsOf = (cost: (figure: Figure) => number): Costs =>
  Object.fromEntries(FIGURES.map((figure) => [figure, cost(figure)])) as Record<Figure, number>;

const difference = (before: Costs, after: Costs, per: number): Costs =>
  costsOf((figure) => (after[figure] - before[figure]) / per);

const MICROS = 1e6;

/** So far. */
async function totals(cluster: Cluster): Promise<Costs> {
  const { rows } = await cluster.sql.query<{ readonly commits: number; readonly wal: number }>(
    `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS commits,
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal`,
  );
  return {
    controlPlane: cpuSecondsOf(cluster.members.map(({ pid }) => pid)) * MICROS,
    postgres: cpuSecondsOfFamily(cluster.postgresPid) * MICROS,
    redis: cpuSecondsOf([cluster.redisPid]) * MICROS,
    webhook: cpuSecondsOf([cluster.webhookPid]) * MICROS,
    commits: rows[0]?.commits ?? Number.NaN,
    walBytes: rows[0]?.wal ?? Number.NaN,
  };
}

const valuesOf = (rounds: readonly Costs[], figure: Figure): readonly number[] =>
  rounds.map((costs) => costs[figure]);

export const medianCost = ({ rounds }: Pick<StateCosts, 'rounds'>, figure: Figure): number =>
  median(valuesOf(rounds, figure));

/** Requests a second, with a core for each control plane, one for PostgreSQL and one for Redis; and what is exhausted first. */
function computedRate(state: StateCosts, background: readonly Costs[]) {
  const later = { rounds: background };
  const rates = [
    { first: 'control planes', rate: (state.controlPlanes * MICROS) / medianCost(state, 'controlPlane') },
    { first: 'background work', rate: MICROS / medianCost(later, 'controlPlane') },
    {
      first: 'PostgreSQL',
      rate: MICROS / (medianCost(state, 'postgres') + medianCost(later, 'postgres')),
    },
    { first: 'Redis', rate: MICROS / medianCost(state, 'redis') },
  ];
  return rates.reduce((least, each) => (each.rate < least.rate ? each : least));
}

/** The median, and the least and the most: `205 (146 to 264)`. */
export function withSpread(values: readonly number[], decimals = 0): string {
  const { least, most } = spreadOf(values);
  const [middle, from, to] = [median(values), least, most].map((value) => value.toFixed(decimals));
  return `${middle} (${from} to ${to})`;
}

/** The tables that docs/operate/scale.md computes with. @param rate requests a second that the second one is for */
export function unitCostTables({ states, fetches, background }: UnitCosts, rate: number): string {
  const ofStates = states.map((state) => {
    const { rate: computed, first } = computedRate(state, background);
    return [
      String(state.controlPlanes),
      withSpread(valuesOf(state.rounds, 'controlPlane')),
      withSpread(valuesOf(state.rounds, 'postgres')),
      withSpread(valuesOf(state.rounds, 'redis'), 1),
      withSpread(valuesOf(state.rounds, 'commits'), 3),
      withSpread(valuesOf(state.rounds, 'walBytes')),
      String(state.connections),
      computed.toFixed(0),
      first,
    ];
  });
  const largest = states.at(-1)?.rounds ?? [];
  const both = (figure: Figure, rounds: readonly Costs[]): readonly number[] =>
    rounds.map((costs, round) => costs[figure] + (background[round]?.[figure] ?? Number.NaN));
  const line = (name: string, values: readonly number[], [unit, per, into]: Unit): readonly string[] => [
    name,
    `${withSpread(values, unit === '' ? 3 : 0)} ${unit}`.trim(),
    `${((median(values) * rate) / per).toFixed(0)} ${into}`,
  ];
  const headers = ['control planes', 'control plane µs', 'PostgreSQL µs', 'Redis µs', 'commits', 'WAL bytes'];
  return `${columns([[...headers, 'connections', 'computed/s', 'exhausted first'], ...ofStates])}

${columns([
  ['resource', 'of a request', `at ${rate.toLocaleString('en')} a second`],
  line('control planes', valuesOf(largest, 'controlPlane'), CPU),
  line('background work, in one control plane', valuesOf(background, 'controlPlane'), CPU),
  line('PostgreSQL', valuesOf(largest, 'postgres'), CPU),
  line('PostgreSQL, for background work', valuesOf(background, 'postgres'), CPU),
  line('Redis', valuesOf(largest, 'redis'), CPU),
  line('webhooks, credential and log', both('webhook', fetches), CPU),
  line('write-ahead log', both('walBytes', largest), ['bytes', MICROS, 'MB a second']),
  line('commits', both('commits', largest), ['', 1, 'a second']),
])}`;
}

type Unit = readonly [unit: string, per: number, into: string];
const CPU: Unit = ['µs', MICROS, 'cores'];
