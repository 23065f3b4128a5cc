/**
 * `node conformance/test/mutations/main.ts [--sample | --unreached | part of an id]`: runs every mutation at one place; with
 * a part of an id, such as `ticket-gate.ts`, those that have it, at every place; with `--sample` those of `sample.yaml`, each
 * with the check that finds it. Prints a line of JSON for each. `--unreached` prints where no check leads to.
 */
import {
  isFoundBy,
  mutationNamed,
  mutationsOf,
  recordReached,
  unreached,
  verdictOn,
  type Verdict,
} from './campaign.ts';
import { readEquivalents, readSample } from './lists.ts';
import { POINTS } from './mutated-webhook.ts';

// What a mutation breaks outside of a request shows in the checks.
process.on('uncaughtException', () => undefined);

const [asked] = process.argv.slice(2);
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

if (asked === '--sample') {
  for (const [id, check] of readSample())
    report({ id, foundBy: (await isFoundBy(mutationNamed(id), check)) ? check : undefined });
} else {
  const reached = await recordReached();
  if (asked === '--unreached') for (const point of unreached(reached)) print(whereIs(point));
  else {
    const all = mutationsOf(reached, asked !== undefined);
    const listed = [...readEquivalents().keys(), ...readSample().keys()].map(mutationNamed);
    const byId = new Map([...all, ...listed].map((mutation) => [mutation.id, mutation]));
    for (const [id, mutation] of byId)
      if (id.includes(asked ?? '')) report(await verdictOn(mutation, reached));
  }
}
process.exit();

/** A mutation that no check found is printed with what it is. */
function report(verdict: Verdict): void {
  const { point, variant } = mutationNamed(verdict.id);
  const { source, variants = [] } = POINTS[point] ?? {};
  const what = { at: whereIs(point), right: source, wrong: variants[variant]?.text };
  print(JSON.stringify(verdict.foundBy === undefined ? { ...verdict, ...what } : verdict));
}

function whereIs(point: number): string {
  const { file, line, within } = POINTS[point] ?? {};
  return `${file}:${line} ${within}`;
}
