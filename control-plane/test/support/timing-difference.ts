import { randomInt } from 'node:crypto';

/** Share of the samples that is kept; what is slower was interrupted by something else. */
const KEPT = 0.9;
const WARM_UP = 2_000;

/** One piece of memory each: a string that is still a view of another one takes longer to read. */
const flat = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

/**
 * Welch's t of the times that the same work takes with texts of two kinds, which come in an order that is drawn anew for
 * each sample, so that whatever else happens on the machine falls on both alike. Below 4.5 no difference was measured.
 *
 * @param samples of both kinds together
 * @param work one function, since two are compiled to code that differs in its speed
 * @param kinds ASCII; many of each, since a few lie by chance where an index is quicker or slower
 */
export async function timingDifference(
  samples: number,
  work: (text: string) => Promise<unknown>,
  kinds: readonly [readonly string[], readonly string[]],
  warmUp = WARM_UP,
): Promise<number> {
  const textOf = (kind: number, n: number): string => {
    const some = kind === 0 ? kinds[0] : kinds[1];
    return flat(some[n % some.length] ?? '');
  };
  for (let n = 0; n < warmUp; n++) await work(textOf(n % 2, n));
  const order = Uint8Array.from({ length: samples }, () => randomInt(2));
  // A copy for each, made in the order of use: where a text lies makes a few ns, which must not be one kind's alone.
  const texts = Array.from(order, textOf);
  const times = new Float64Array(samples);
  for (const [n, text] of texts.entries()) {
    const startedAt = process.hrtime.bigint();
    await work(text);
    times[n] = Number(process.hrtime.bigint() - startedAt);
  }
  const slowest = times.toSorted()[Math.floor(samples * KEPT)] ?? Number.POSITIVE_INFINITY;
  const of = (kind: number): Float64Array => times.filter((time, n) => order[n] === kind && time < slowest);
  return Math.abs(welchT(of(0), of(1)));
}

/** (mean − mean) over the root of the summed squared standard errors. */
function welchT(one: Float64Array, other: Float64Array): number {
  const [a, b] = [momentsOf(one), momentsOf(other)];
  return (a.mean - b.mean) / Math.sqrt(a.variance / one.length + b.variance / other.length);
}

function momentsOf(values: Float64Array): { readonly mean: number; readonly variance: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, variance: squares / (values.length - 1) };
}
