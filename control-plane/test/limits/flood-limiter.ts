import { ManualClock, newId } from '@svault/shared';
import { memoryInUse } from '@svault/test-kit/memory-in-use';
import { addressKey } from '../../src/core/address.ts';
import { createCounterStore } from '../../src/limits/counter-store.ts';
import { createLimits } from '../../src/limits/limits.ts';
import { createProcessLimiter } from '../../src/limits/process-limiter.ts';

/*
 * A separate program, so that the limiter has its memory to itself: a million addresses, then a million keys, each of another
 * account. Prints what the limiter held then, and what was left after a while.
 */

const MILLION = 1_000_000;
const HOUR = 3_600_000;

const clock = new ManualClock();
const limits = createLimits({ agent_credentials: 1 });
const store = createCounterStore();
const limiter = createProcessLimiter({ limits, store, clock });

const byAddress = (number: number): void => {
  const address = `2001:db8:${(number >> 16).toString(16)}:${(number & 0xffff).toString(16)}::1`;
  void limiter.take(limits.counter('password_login', addressKey(address)));
};

const makeCaller = () =>
  ({
    vaultId: newId('vlt'),
    callerId: newId('agt'),
    traffic: 'agent_credentials',
    aggregateLimit: 600,
    extraCounters: [],
  }) as const;

/** An agent with a policy's rate that exceeds its floor: the most entries that a caller can have. */
const byKey = (): void => {
  const extraCounters = [{ scope: 'rate_limit', key: newId('pol'), limit: 5, windowMs: HOUR }] as const;
  const request = { ...makeCaller(), extraCounters };
  void limiter.admit(request);
  void limiter.admit(request);
};

const victim = makeCaller();
const guesser = limits.counter('password_login', '192.0.2.1');
const rssBefore = process.memoryUsage.rss();
const before = memoryInUse();

void limiter.admit(victim);
// Two strikes, and an address with all of its guesses used.
for (let strike = 0; strike < 2; strike += 1) {
  void limiter.admit(victim);
  clock.advance(60_000);
  void limiter.admit(victim);
}
void limiter.admit(victim);
for (let guess = 0; guess < guesser.limit; guess += 1) void limiter.take(guesser);

let rss = 0;
for (let number = 0; number < MILLION; number += 1) {
  byAddress(number);
  if (number % 50_000 === 0) rss = Math.max(rss, process.memoryUsage.rss());
}
for (let number = 0; number < MILLION; number += 1) {
  byKey();
  if (number % 50_000 === 0) rss = Math.max(rss, process.memoryUsage.rss());
}

const held = {
  entries: store.size,
  bytes: memoryInUse() - before,
  residentBytes: Math.max(rss, process.memoryUsage.rss()) - rssBefore,
  victimIsLockedOut: (await limiter.lockouts(victim.vaultId)).length === 1,
  guesserHasNoGuessLeft: !(await limiter.take(guesser)).allowed,
};

clock.advance(4 * HOUR);
const now = Math.floor(clock.monotonic());
for (let call = 0; call < 200; call += 1) store.evictExpired(now, 10_000);
const left = { entries: store.size, bytes: memoryInUse() - before };
process.stdout.write(JSON.stringify({ held, left }));
