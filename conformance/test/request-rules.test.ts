import { expect, test } from 'vitest';
import { RIGHT } from '../fixtures/rules.ts';
import { selectChecks } from '../src/registry.ts';
import { runOnMinimal } from './suite.ts';

// No flaw like the others: without the capability the checks of request rules are not scored.
test('a webhook that stores request rules without claiming them fails store.unknown-member', async () => {
  const capabilities = RIGHT.capabilities.filter((each) => each !== 'request-rules');
  const [checks, claimed] = [selectChecks(['store.unknown-member']), { capabilities }];
  const outcomes = async (takesRequests: boolean): Promise<readonly string[]> =>
    (await runOnMinimal({ ...claimed, takesRequests }, checks)).map(({ outcome }) => outcome.kind);
  expect(await outcomes(false)).toEqual(['passed']);
  expect(await outcomes(true)).toEqual(['failed']);
});
