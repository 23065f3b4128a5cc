import { ManualClock, newId } from '@svault/shared';
import { memoryInUse } from '@svault/test-kit/memory-in-use';
import { addressKey } from '../../src/core/address.ts';
import { createBoundedTally } from '../../src/limits/bounded-tally.ts';
import { createLimits } from '../../src/limits/limits.ts';
import { createProcessLimiter } from '../../src/limits/process-limiter.ts';

/*
 * A program of its own, so that its memory is the limiter's alone: a million addresses, then a million keys, each of an
 * account of its own. Prints what was held then, and what was left.
 */

const MILLION = 1_000_000;
const HOUR = 3_600_000;

const clock = new ManualClock();
const limits = createLimits({ agent_credentials: 1 });
const tally = createBoundedTally();
const limiter = createProcessLimiter({ limits, tally, clock });

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

/** An agent with a policy's rule, that exceeds its floor: all that a caller can cost. */
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
  entries: tally.size,
  bytes: memoryInUse() - before,
  residentBytes: Math.max(rss, process.memoryUsage.rss()) - rssBefore,
  victimIsLockedOut: (await limiter.lockouts(victim.vaultId)).length === 1,
  guesserHasNoGuessLeft: !(await limiter.take(guesser)).allowed,
};

clock.advance(4 * HOUR);
const now = Math.floor(clock.monotonic());
for (let sweep = 0; sweep < 200; sweep += 1) tally.sweep(now, 10_000);
const left = { entries: tally.size, bytes: memoryInUse() - before };
process.stdout.write(JSON.stringify({ held, left }));
