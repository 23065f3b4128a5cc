import { runLoad, type LoadResult, type LoadTarget, type RequestSource } from './load.ts';
import { cpuSeconds } from './machine.ts';
import type { Row } from './report.ts';
import { settle } from './server-process.ts';
import type { Target } from './targets.ts';

/** One thing to measure against bare Express. */
export interface Contender extends LoadTarget {
  readonly name: string;
  /** Of its server. */
  readonly pid: number;
  /** Makes the requests of one run. Called before each run, so that tickets are fresh. */
  prepare(): RequestSource;
  /** Called after each run. */
  readonly afterRun?: () => void;
}

/** How long each thing is measured, as `npm run bench` was asked. */
export interface RoundOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
}

export interface Measured {
  readonly name: string;
  /** Median over the rounds of requests per second over those of bare Express in the same round. */
  readonly ratio: number;
  readonly requestsPerSecond: number;
  /** The same ratio by CPU time instead of rate. */
  readonly cpuRatio: number;
  /** Median CPU time of the server per request, in microseconds: what other work on the machine disturbs least. */
  readonly cpuMicros: number;
  readonly rounds: readonly RoundResult[];
}

interface RoundResult extends LoadResult {
  readonly cpuMicros: number;
}

const WARM_UP_SECONDS = 1;

/**
 * Measures contenders in turn, the yardstick first in each round: what else the machine does falls on both sides of
 * a ratio.
 * @param yardstick bare Express
 * @param pids processes that must be at rest before each run
 */
export async function measure(
  yardstick: Contender,
  contenders: readonly Contender[],
  pids: readonly number[],
  { rounds: count, connections, seconds }: RoundOptions,
): Promise<readonly Measured[]> {
  const run = async (contender: Contender, forSeconds: number): Promise<RoundResult> => {
    const source = contender.prepare();
    await settle(pids);
    const cpuBefore = cpuSeconds(contender.pid);
    const result = await runLoad({ ...contender, source, connections, seconds: forSeconds });
    const cpuMicros = ((cpuSeconds(contender.pid) - cpuBefore) * 1e6) / result.answered;
    contender.afterRun?.();
    return { ...result, cpuMicros };
  };
  const all = [yardstick, ...contenders];
  for (const each of all) await run(each, WARM_UP_SECONDS);
  const results = all.map((): RoundResult[] => []);
  for (let round = 0; round < count; round++)
    for (const [at, each] of all.entries()) results[at]?.push(await run(each, seconds));
  const base = results[0] ?? [];
  return results.map((rounds, at) => {
    const medianOf = (pick: (one: RoundResult, bare: RoundResult) => number): number =>
      median(rounds.map((one, round) => pick(one, base[round] ?? one)));
    return {
      name: all[at]?.name ?? '',
      ratio: medianOf((one, bare) => one.requestsPerSecond / bare.requestsPerSecond),
      requestsPerSecond: medianOf((one) => one.requestsPerSecond),
      cpuRatio: medianOf((one, bare) => bare.cpuMicros / one.cpuMicros),
      cpuMicros: medianOf((one) => one.cpuMicros),
      rounds,
    };
  });
}

/** Measures two states in turn, once each in a round. @returns what was measured of each, by round */
export async function alternate<State extends string, T>(
  rounds: number,
  states: readonly [State, State],
  measureIn: (state: State) => Promise<T>,
): Promise<readonly [T[], T[]]> {
  const results: readonly [T[], T[]] = [[], []];
  for (let round = 0; round < rounds; round++)
    for (const at of [0, 1] as const) results[at].push(await measureIn(states[at]));
  return results;
}

type Quantile = 'p50Ms' | 'p99Ms';

/** Median over the rounds of a quantile. */
const medianOf = (results: readonly LoadResult[], which: Quantile): number =>
  median(results.map((each) => each[which]));

/** The p99 of a second state over that of a first one. */
export function p99Row(
  name: string,
  target: Target,
  [first, second]: readonly [readonly LoadResult[], readonly LoadResult[]],
  /** What the states are called, and what else is to say. */
  { states: [one, other], note = '' }: { readonly states: readonly [string, string]; readonly note?: string },
): Row {
  const times = (which: Quantile): string =>
    `${medianOf(first, which).toFixed(2)} ms ${one}, ${medianOf(second, which).toFixed(2)} ms ${other}`;
  const value = medianOf(second, 'p99Ms') / medianOf(first, 'p99Ms');
  return { name, value, target, note: `${times('p99Ms')}; p50 ${times('p50Ms')}${note}` };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? Number.NaN)) / 2 : upper;
}
