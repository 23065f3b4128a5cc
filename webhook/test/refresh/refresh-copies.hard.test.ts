/**
 * Stores, copies, restores and deletions among refreshes, in any order and at once: no spent refresh token is shown.
 */
import { expect, test } from 'vitest';
import { CLIENT, type RefreshBench, refreshBench } from '../support/refresh-bench.ts';
import { command } from '../support/run-webhook.ts';

const NAME = 'a name';
const RUNS = 5;
/** An hour each: less than the 7 days for which versions are kept. */
const ROUNDS = 140;
const SHARED = { body: { shareRefreshToken: true } };

type Operation = (bench: RefreshBench) => Promise<unknown>;

/** The owner stores what is there once more, for another host. */
const copy: Operation = async ({ store, webhook }) => {
  const { status, json } = await webhook.credential(NAME);
  if (status !== 200) return;
  const { accessToken, refreshToken } = json.token;
  const allowedHosts = [`${randomBelow(1_000)}.test`];
  await store(NAME, { body: { accessToken, refreshToken, allowedHosts, ...SHARED.body } });
};

const restoreAny: Operation = async ({ webhook: { env } }) => {
  const { stderr } = await command({ env }, 'restore', NAME, '999999');
  const kept = /kept are ([0-9, ]+)/.exec(stderr)?.[1]?.split(', ') ?? [];
  const version = kept[randomBelow(kept.length)];
  if (version !== undefined) await command({ env }, 'restore', NAME, version);
};

const lease: Operation = async ({ refresh }) => {
  const { status, json } = await refresh({ phase: 'get', serviceName: NAME });
  const update = { phase: 'update', leaseId: json.leaseId, clientSecret: CLIENT.secret };
  if (status === 200) await Promise.all([refresh(update), refresh(update)]);
};

const OPERATIONS: readonly Operation[] = [
  copy,
  restoreAny,
  lease,
  ({ store }) => store(NAME, SHARED),
  ({ webhook }) => webhook.storage({ op: 'tokens.delete', serviceName: NAME }),
  ({ fetch }) => fetch(NAME),
  ({ fetch }) => fetch(NAME),
  ({ notify }) => notify(NAME),
];

const randomBelow = (end: number): number => Math.floor(Math.random() * end);

test.each(Array.from({ length: RUNS }, (_, run) => run))('run %d', async () => {
  const bench = await refreshBench();
  try {
    bench.provider.expiresIn = 60;
    await bench.store(NAME, SHARED);
    for (let round = 0; round < ROUNDS; round += 1) {
      bench.webhook.clock.advance(3_600_000);
      const picked = Array.from(
        { length: 1 + randomBelow(6) },
        () => OPERATIONS[randomBelow(OPERATIONS.length)],
      );
      // What an owner copies by hand may be spent by the time it is stored: it is done alone.
      const together = picked.includes(copy) ? [copy] : picked;
      await Promise.all(together.map(async (operation) => operation?.(bench)));
    }
    const outcomes = bench.provider.calls.map(({ outcome }) => outcome);
    expect(outcomes.length).toBeGreaterThan(20);
    expect(outcomes.filter((outcome) => outcome !== 'refreshed')).toEqual([]);
  } finally {
    await bench.close();
  }
});
