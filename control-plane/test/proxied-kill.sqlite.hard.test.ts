import { expect, test } from 'vitest';
import { proxiedCrashDrill } from './support/proxied-crash-drill.ts';

test('200 times kill -9 of either program under proxied load leaves each use in both logs, once', async () => {
  expect(await proxiedCrashDrill({ kills: 200, callers: 32 })).toBeGreaterThan(200);
});
