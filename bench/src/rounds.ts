import { runLoad, type LoadResult, type RequestSource } from './load.ts';
import { cpuSeconds } from './machine.ts';
import { settle } from './server-process.ts';

/** One thing to measure against bare Express. */
export interface Contender {
  readonly name: string;
  readonly url: string;
  /** Of its server. */
  readonly pid: number;
  readonly expectedStatus: number;
  /** Makes the requests of one run. Called before each run, so that tickets are fresh. */
  prepare(): RequestSource;
  /** Called after each run. */
  readonly afterRun?: () => void;
}

export interface RoundOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  /** Processes that must be at rest before each run. */
  readonly pids: readonly number[];
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
 */
export async function measure(
  yardstick: Contender,
  contenders: readonly Contender[],
  options: RoundOptions,
): Promise<readonly Measured[]> {
  const all = [yardstick, ...contenders];
  for (const each of all) await run(each, options, WARM_UP_SECONDS);
  const results = new Map<Contender, RoundResult[]>(all.map((each) => [each, []]));
  for (let round = 0; round < options.rounds; round++)
    for (const each of all) results.get(each)?.push(await run(each, options, options.seconds));
  const base = results.get(yardstick) ?? [];
  return all.map((each) => {
    const rounds = results.get(each) ?? [];
    return {
      name: each.name,
      ratio: median(
        rounds.map((one, round) => one.requestsPerSecond / (base[round]?.requestsPerSecond ?? Number.NaN)),
      ),
      requestsPerSecond: median(rounds.map((one) => one.requestsPerSecond)),
      cpuRatio: median(rounds.map((one, round) => (base[round]?.cpuMicros ?? Number.NaN) / one.cpuMicros)),
      cpuMicros: median(rounds.map((one) => one.cpuMicros)),
      rounds,
    };
  });
}

async function run(contender: Contender, options: RoundOptions, seconds: number): Promise<RoundResult> {
  const source = contender.prepare();
  await settle(options.pids);
  const { url, expectedStatus, pid } = contender;
  const cpuBefore = cpuSeconds(pid);
  const result = await runLoad({ url, source, expectedStatus, connections: options.connections, seconds });
  const cpuMicros = ((cpuSeconds(pid) - cpuBefore) * 1e6) / result.answered;
  contender.afterRun?.();
  return { ...result, cpuMicros };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? (upper + (sorted[middle - 1] ?? Number.NaN)) / 2 : upper;
}
