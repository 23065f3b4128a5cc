import { FLAWS } from '../fixtures/flaws.ts';
import type { Rules } from '../fixtures/rules.ts';
import type { Check } from '../src/check/check.ts';
import { CHECKS } from '../src/registry.ts';

/** The checks that observe the binding itself have a run of their own (binding.test.ts). */
export const ON_BOUND = CHECKS.filter((check) => 'run' in check);

/** A sabotage of a webhook that was bound before the run. */
export interface Sabotage {
  readonly name: string;
  readonly changed: Partial<Rules>;
  /** Ids of exactly the checks that it fails, sorted. */
  readonly fails: readonly string[];
}

/**
 * The checks of which these fail. Rotations follow each other in a run: what one fails may be seen by the next.
 * @param ids see {@link Sabotage.fails}
 */
export function checksFor(ids: readonly string[]): readonly Check[] {
  const turns = ids.some(isRotation);
  return ON_BOUND.filter(({ id }) => ids.includes(id) || (turns && isRotation(id)));
}
const isRotation = (id: string): boolean => id.startsWith('rotation.');

/** A check may have several sabotages: `check.id · which`. */
export const checkOf = (name: string): string => name.split(' · ', 1)[0] ?? '';

const isOnBound = (id: string): boolean => ON_BOUND.some((check) => check.id === id);

export const SABOTAGES: readonly Sabotage[] = Object.entries(FLAWS)
  .filter(([name]) => isOnBound(checkOf(name)))
  .map(([name, { changed, alsoFails = [] }]) => ({
    name,
    changed,
    fails: [checkOf(name), ...alsoFails].filter(isOnBound).toSorted(),
  }));
