import { expect, test } from 'vitest';
import { RIGHT } from '../fixtures/rules.ts';
import { selectChecks } from '../src/registry.ts';
import { runOnMinimal } from './suite.ts';

// Not among the flaws: without the capability its checks are not scored.
test.each([
  ['request rules', 'request-rules', 'takesRequests'],
  ['query parameters', 'http-proxy', 'takesAllowedQuery'],
  ['approvals', 'approvals', 'takesApproval'],
] as const)(
  'a webhook that stores %s without claiming them fails store.unknown-member',
  async (_, capability, takes) => {
    const capabilities = RIGHT.capabilities.filter((each) => each !== capability);
    const [checks, claimed] = [selectChecks(['store.unknown-member']), { capabilities }];
    const outcomes = async (isTaken: boolean): Promise<readonly string[]> =>
      (await runOnMinimal({ ...claimed, [takes]: isTaken }, checks)).map(({ outcome }) => outcome.kind);
    expect(await outcomes(false)).toEqual(['passed']);
    expect(await outcomes(true)).toEqual(['failed']);
  },
);
