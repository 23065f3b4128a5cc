import { createLogger } from '@svault/server-kit/logger';
import { type Id, ManualClock } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import { type AccountTasks, createAccountTasks, loggedReports } from './account-tasks.ts';
import { WebhookCallFailed } from './call-failed.ts';

const vaultOf = (name: string, n: number): Id<'vlt'> => `vlt_${name}_${n}` as Id<'vlt'>;

let clock: ManualClock;
let tasks: AccountTasks;
let started: Id<'vlt'>[];
let pauses: number[];
let gate: PromiseWithResolvers<void>;

beforeEach(() => {
  clock = new ManualClock();
  tasks = createAccountTasks({ clock, firstPauseMs: 1_000, maxPauseMs: 8_000 });
  [started, pauses] = [[], []];
  gate = Promise.withResolvers();
});

const start = (vaultId: Id<'vlt'>, task: () => Promise<void>): void =>
  tasks.start(vaultId, () => (started.push(vaultId), task()), {
    failed: (_error, pauseMs) => pauses.push(pauseMs),
    recovered: () => undefined,
  });
const hang = (): Promise<void> => gate.promise;
const fail = (): Promise<void> => Promise.reject(new Error('away'));
const succeed = (): Promise<void> => Promise.resolve();

describe('background tasks of accounts', () => {
  it('run one at a time for each account', async () => {
    const [one, other] = [vaultOf('a', 1), vaultOf('a', 2)];
    for (const vaultId of [one, one, other]) start(vaultId, hang);
    expect(started).toEqual([one, other]);
    gate.resolve();
    await tasks.settled();
    start(one, succeed);
    expect(started).toEqual([one, other, one]);
  });

  it('pause after a failure, twice as long each time, and not after a success', async () => {
    const one = vaultOf('a', 1);
    for (let n = 0; n < 5; n++) {
      start(one, fail);
      await tasks.settled();
      expect(tasks.canStart(one)).toBe(false);
      clock.advance(pauses.at(-1) ?? 0);
      expect(tasks.canStart(one)).toBe(true);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 8_000]);
    start(one, succeed);
    await tasks.settled();
    expect([tasks.canStart(one), tasks.busyAccounts]).toEqual([true, 0]);
  });

  it('are logged as one warning without a stack for each outage, each other cause anew, and one line at the end', async () => {
    const lines: Record<string, unknown>[] = [];
    const destination = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) };
    const logger = createLogger({ name: 'x', level: 'info', format: 'json', destination });
    const one = vaultOf('a', 1);
    const reports = loggedReports(logger, one, { failed: 'is away', recovered: 'is back' });
    const ends = ['a', 'a', 'a', 'b', 'b'].map(
      (why) => () => Promise.reject(new WebhookCallFailed('unreachable', why)),
    );
    for (const end of [...ends, succeed, succeed, ends[0]!]) {
      tasks.start(one, end, reports);
      await tasks.settled();
      clock.advance(8_000);
    }
    expect(lines.map(({ level, msg, why, err }) => [level, msg, why, err])).toEqual([
      ['warn', 'is away', 'a', undefined],
      ['warn', 'is away', 'b', undefined],
      ['info', 'is back', undefined, undefined],
      ['warn', 'is away', 'a', undefined],
    ]);
  });

  it('leave places for other accounts, however many webhooks failed last and never answer', async () => {
    const hostile = Array.from({ length: 200 }, (_, n) => vaultOf('hostile', n));
    for (let from = 0; from < 200; from += 50) {
      for (const vaultId of hostile.slice(from, from + 50)) start(vaultId, fail);
      await tasks.settled();
    }
    clock.advance(1_000);
    started = [];
    for (const vaultId of hostile) start(vaultId, hang);
    expect(started).toHaveLength(16);
    for (let n = 0; n < 100; n++) start(vaultOf('honest', n), hang);
    expect(started).toHaveLength(16 + 64);
    gate.resolve();
  });
});
