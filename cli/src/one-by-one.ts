import { type ExitName, Failure, Interrupted, failureLine } from './failure.ts';
import { DryRunDone } from './http/dry-run.ts';
import type { Invocation } from './invocation.ts';
import { say } from './output/say.ts';

/** What came of doing the same for several things. */
export interface Outcomes<T> {
  readonly done: readonly T[];
  /** To be thrown after the results are printed; its exit code is the first of `WORST_FIRST` that occurred. */
  readonly failure: Failure | undefined;
}

const WORST_FIRST: readonly ExitName[] = ['interrupted', 'denied', 'unavailable', 'rateLimited', 'failed'];
/** What would happen to the others as well: they are left alone. */
const HOPELESS: readonly ExitName[] = ['interrupted', 'denied', 'unavailable', 'rateLimited'];

/**
 * Does the same for several things, in their order. One that fails is said on stderr by its name, and the others go on. A
 * single one that fails is the failure itself. Ctrl-C ends it. Under `--dry-run` each shows its requests.
 * @throws every error that is not a Failure
 */
export async function oneByOne<T>(
  { terminal, signal }: Invocation,
  names: readonly string[],
  act: (name: string) => Promise<T>,
): Promise<Outcomes<T>> {
  const done: T[] = [];
  const failures: Failure[] = [];
  for (const [index, name] of names.entries()) {
    try {
      done.push(await act(name));
    } catch (error) {
      if (error instanceof DryRunDone) continue;
      if (signal.aborted) return { done, failure: new Interrupted() };
      if (!(error instanceof Failure)) throw error;
      failures.push(error);
      if (names.length === 1) break;
      const { exit, code } = error;
      terminal.err(failureLine(new Failure(exit, `${name}: ${error.message}`, { code })));
      const left = names.slice(index + 1);
      if (!HOPELESS.includes(exit)) continue;
      if (left.length > 0) say({ terminal }, `not tried: ${left.join(', ')}`);
      break;
    }
  }
  return { done, failure: names.length === 1 ? failures[0] : summed(failures, names.length) };
}

function summed(failures: readonly Failure[], all: number): Failure | undefined {
  const [first] = failures;
  if (first === undefined) return undefined;
  const worst = WORST_FIRST.find((exit) => failures.some((failure) => failure.exit === exit)) ?? first.exit;
  return new Failure(worst, `${failures.length} of ${all} failed`);
}

/** Each item once, at its first place. */
export const unique = <T>(items: readonly T[]): readonly T[] => [...new Set(items)];
