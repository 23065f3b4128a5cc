import { ManualClock, newId } from '@svault/shared';
import { memoryInUse } from '@svault/test-kit/memory-in-use';
import { expect, test } from 'vitest';
import { addressKey } from '../../src/limits/address-key.ts';
import { createBoundedTally } from '../../src/limits/bounded-tally.ts';
import type { Limiter } from '../../src/limits/limiter.ts';
import { createLimits } from '../../src/limits/limits.ts';
import { createProcessLimiter } from '../../src/limits/process-limiter.ts';

const MILLION = 1_000_000;
const MEGABYTE = 1_000_000;

const clock = new ManualClock();
const limits = createLimits({ agent_credentials: 1 });
const tally = createBoundedTally();
const limiter = createProcessLimiter({ limits, tally, clock });

const byAddress = (number: number): ReturnType<Limiter['take']> => {
  const address = `2001:db8:${(number >> 16).toString(16)}:${(number & 0xffff).toString(16)}::1`;
  return limiter.take(limits.counter('password_login', addressKey(address)));
};

/** An agent of an account of its own, with a policy's rule, that exceeds its floor: all that a caller can cost. */
function byKey(): void {
  const request = {
    vaultId: newId('vlt'),
    callerId: newId('agt'),
    traffic: 'agent_credentials',
    aggregateLimit: 600,
    further: [{ scope: 'rate_limit', key: newId('pol'), limit: 5, windowMs: 3_600_000 }],
  } as const;
  void limiter.admit(request);
  void limiter.admit(request);
}

test('a million addresses and a million keys cost the process under 200 MB, and are forgotten', async () => {
  const vaultId = newId('vlt');
  const locked = {
    vaultId,
    callerId: newId('agt'),
    traffic: 'agent_credentials',
    aggregateLimit: 600,
  } as const;
  const before = memoryInUse();

  await limiter.admit({ ...locked, further: [] });
  await limiter.admit({ ...locked, further: [] });
  for (let number = 0; number < MILLION; number += 1) await byAddress(number);
  // A flood of addresses pushed out no lockout, and no agent's counter.
  expect(await limiter.lockouts(vaultId)).toHaveLength(1);
  for (let number = 0; number < MILLION; number += 1) byKey();

  const held = memoryInUse() - before;
  expect(held / MEGABYTE).toBeLessThan(200);
  expect(tally.size).toBeGreaterThan(100_000);

  clock.advance(2 * 3_600_000);
  const now = Math.floor(clock.monotonic());
  for (let sweep = 0; sweep < 60; sweep += 1) tally.sweep(now, 10_000);
  expect(tally.size).toBe(0);
  expect((memoryInUse() - before) / MEGABYTE).toBeLessThan(20);
});
