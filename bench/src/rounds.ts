import { type LoadResult, type LoadShape, type LoadTarget, runLoad } from './load.ts';
import { cpuSecondsOf } from './machine.ts';
import type { Row } from './report.ts';
import type { RequestSource } from './requests.ts';
import { settle } from './server-process.ts';
import type { Target } from './targets.ts';

/** One thing to measure. */
export interface Contender extends LoadTarget, LoadShape {
  readonly name: string;
  /** Of its server. */
  readonly pid: number;
  /** Of the other processes that do its work: their CPU time counts as well. */
  readonly otherPids?: readonly number[];
  /** Instead of as many as the options say. */
  readonly connections?: number;
  /** Whether the CPU time that it takes after the last answer, until it is at rest, counts as well. */
  readonly untilAtRest?: boolean;
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

/** A contender, and what was measured of it in each round. */
export interface Measured {
  readonly name: string;
  readonly rounds: readonly RoundResult[];
}

export interface RoundResult extends LoadResult {
  /** CPU time of all its processes per request: what other work on the machine disturbs least. */
  readonly cpuMicros: number;
}

const WARM_UP_SECONDS = 1;

/**
 * Measures contenders in turn, each once in a round: what else the machine does falls on all sides of a ratio.
 * @param pids processes that must be at rest before each run
 * @returns what was measured, in the order of the contenders
 */
export async function measure(
  contenders: readonly Contender[],
  pids: readonly number[],
  { rounds: count, connections, seconds }: RoundOptions,
): Promise<readonly Measured[]> {
  const run = async (contender: Contender, forSeconds: number): Promise<RoundResult> => {
    const source = contender.prepare();
    await settle(pids);
    const own = [contender.pid, ...(contender.otherPids ?? [])];
    const cpuBefore = cpuSecondsOf(own);
    const result = await runLoad({ connections, ...contender, source, seconds: forSeconds });
    const cpuAfter = contender.untilAtRest ? await settle(own) : cpuSecondsOf(own);
    const cpuMicros = ((cpuAfter - cpuBefore) * 1e6) / result.answered;
    contender.afterRun?.();
    return { ...result, cpuMicros };
  };
  for (const each of contenders) await run(each, WARM_UP_SECONDS);
  const results = contenders.map(({ name }) => ({ name, rounds: [] as RoundResult[] }));
  for (let round = 0; round < count; round++)
    for (const [at, each] of contenders.entries()) results[at]?.rounds.push(await run(each, seconds));
  return results;
}

/** What was measured of a contender by name. @throws Error where nothing was */
export function roundsOf(measured: readonly Measured[], name: string): readonly RoundResult[] {
  const found = measured.find((each) => each.name === name);
  if (found === undefined) throw new Error(`${name} was not measured`);
  return found.rounds;
}

type Figure = Exclude<keyof RoundResult, 'answered' | 'loaderBusy'>;

export const medianOf = (rounds: readonly RoundResult[], figure: Figure): number =>
  median(rounds.map((each) => each[figure]));

/** A figure over the same one of a yardstick, round by round. */
export const ratiosTo = (
  yardstick: readonly RoundResult[],
  rounds: readonly RoundResult[],
  figure: Figure,
): readonly number[] =>
  rounds.map((each, round) => each[figure] / (yardstick[round]?.[figure] ?? Number.NaN));

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

/** The p99 of a second state over that of a first one. */
export function p99Row(
  name: string,
  target: Target,
  [first, second]: readonly [readonly LoadResult[], readonly LoadResult[]],
  /** What the states are called, and what else is to say. */
  { states: [one, other], note = '' }: { readonly states: readonly [string, string]; readonly note?: string },
): Row {
  const middle = (results: readonly LoadResult[], which: Quantile): string =>
    median(results.map((each) => each[which])).toFixed(2);
  const times = (which: Quantile): string =>
    `${middle(first, which)} ms ${one}, ${middle(second, which)} ms ${other}`;
  const values = second.map(({ p99Ms }, round) => p99Ms / (first[round]?.p99Ms ?? Number.NaN));
  return rowOf(name, target, values, `${times('p99Ms')}; p50 ${times('p50Ms')}${note}`);
}

/** A row of what each round gave. */
export const rowOf = (name: string, target: Target, rounds: readonly number[], note = ''): Row => ({
  name,
  value: median(rounds),
  target,
  rounds,
  note,
});

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? Number.NaN)) / 2 : upper;
}
