import { describe, expect, test } from 'vitest';
import { ON_BOUND, SABOTAGES } from './sabotages.ts';
import { notPassed, runOnMinimal } from './suite.ts';

const areaOf = ({ name }: { readonly name: string }): string => name.split('.', 1)[0] ?? '';
const AREAS = [...new Set(SABOTAGES.map(areaOf))];

// Several at once, since a run waits now and then.
describe.concurrent.each(AREAS)('each sabotage of %s', (area) => {
  test.each(SABOTAGES.filter((each) => areaOf(each) === area))(
    'fails exactly its checks: $name',
    async ({ changed, fails }) => {
      expect(notPassed(await runOnMinimal(changed, ON_BOUND)).toSorted()).toEqual(fails);
    },
  );
});
