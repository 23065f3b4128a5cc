import { type Id, ManualClock } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import { type WebhookTurns, createWebhookTurns } from './account-tasks.ts';

const vaultOf = (name: string, n: number): Id<'vlt'> => `vlt_${name}_${n}` as Id<'vlt'>;

let clock: ManualClock;
let turns: WebhookTurns;
let begun: Id<'vlt'>[];
let pauses: number[];
let gate: PromiseWithResolvers<void>;

beforeEach(() => {
  clock = new ManualClock();
  turns = createWebhookTurns({ clock, firstPauseMs: 1_000, maxPauseMs: 8_000 });
  [begun, pauses] = [[], []];
  gate = Promise.withResolvers();
});

const begin = (vaultId: Id<'vlt'>, work: () => Promise<void>): void =>
  turns.begin(
    vaultId,
    () => (begun.push(vaultId), work()),
    (_error, pauseMs) => pauses.push(pauseMs),
  );
const hang = (): Promise<void> => gate.promise;
const fail = (): Promise<void> => Promise.reject(new Error('away'));
const succeed = (): Promise<void> => Promise.resolve();

describe('turns of webhooks', () => {
  it('are one at a time for each account', async () => {
    const [one, other] = [vaultOf('a', 1), vaultOf('a', 2)];
    for (const vaultId of [one, one, other]) begin(vaultId, hang);
    expect(begun).toEqual([one, other]);
    gate.resolve();
    await turns.settled();
    begin(one, succeed);
    expect(begun).toEqual([one, other, one]);
  });

  it('come after pauses that double with each failure, and at once after a success', async () => {
    const one = vaultOf('a', 1);
    for (let n = 0; n < 5; n++) {
      begin(one, fail);
      await turns.settled();
      expect(turns.isFree(one)).toBe(false);
      clock.advance(pauses.at(-1) ?? 0);
      expect(turns.isFree(one)).toBe(true);
    }
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 8_000]);
    begin(one, succeed);
    await turns.settled();
    expect([turns.isFree(one), turns.occupied]).toEqual([true, 0]);
  });

  it('of any number of webhooks that failed last and never answer leave room for all others', async () => {
    const hostile = Array.from({ length: 200 }, (_, n) => vaultOf('hostile', n));
    for (let from = 0; from < 200; from += 50) {
      for (const vaultId of hostile.slice(from, from + 50)) begin(vaultId, fail);
      await turns.settled();
    }
    clock.advance(1_000);
    begun = [];
    for (const vaultId of hostile) begin(vaultId, hang);
    expect(begun).toHaveLength(16);
    for (let n = 0; n < 100; n++) begin(vaultOf('honest', n), hang);
    expect(begun).toHaveLength(16 + 64);
    gate.resolve();
  });
});
