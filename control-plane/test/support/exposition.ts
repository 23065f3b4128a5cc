import type { ProgramName, TestPair } from '@svault/test-kit/pair';

/** What a program answers to `GET /metrics`. */
export interface Exposition {
  readonly text: string;
  /** Name and labels of each series, as they are written. */
  readonly series: ReadonlySet<string>;
  /** The names of its series. */
  readonly names: ReadonlySet<string>;
  /** The sum of the series whose name and labels match. */
  sum(series: RegExp): number;
}

export async function scrape(pair: TestPair, program: ProgramName): Promise<Exposition> {
  const text = await (await fetch(`${pair.metricsUrl(program)}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const samples = lines.map((line) => {
    const at = line.lastIndexOf(' ');
    return [line.slice(0, at), Number(line.slice(at + 1))] as const;
  });
  return {
    text,
    series: new Set(samples.map(([series]) => series)),
    names: new Set(samples.map(([series]) => series.split('{', 1)[0] ?? '')),
    sum: (pattern) => samples.reduce((sum, [series, value]) => (pattern.test(series) ? sum + value : sum), 0),
  };
}
