import { expect, test } from 'vitest';
import { proxiedCrashDrill } from './support/proxied-crash-drill.ts';

// Two hundred kills are in proxied-kill.sqlite.hard.test.ts.

test('kill -9 of either program under proxied load leaves each use in both logs, once', async () => {
  expect(await proxiedCrashDrill({ kills: 4, callers: 8 })).toBeGreaterThan(4);
});
