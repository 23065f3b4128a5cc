import { expect, test } from 'vitest';
import { expectNoEventLost } from './kill-exports.ts';

test('over 100 kills an export to a file with a state loses no event', async () => {
  // Some kills came between an event and its note in the state.
  expect(await expectNoEventLost({ kills: 100, events: 40_000 })).toBeGreaterThan(0);
});
