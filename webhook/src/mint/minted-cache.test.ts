import { describe, expect, it } from 'vitest';
import { ManualClock, Secret } from '@svault/shared';
import { type MintedFor, createMintedCache } from './minted-cache.ts';
import type { NewCredential } from './minter.ts';

const START = 1_800_000_000_000;
const WHOM: MintedFor = { serviceName: 'aws', version: 1, caller: 'agt_a' };

/** Mints `token 1`, `token 2` and so on, each with the given life. */
function minter(clock: ManualClock, lifeMs: number | undefined) {
  let made = 0;
  return {
    made: () => made,
    mint: async (): Promise<NewCredential> => ({
      accessToken: new Secret(`token ${++made}`),
      expiryMs: lifeMs === undefined ? undefined : clock.now() + lifeMs,
    }),
  };
}

describe('minted credentials', () => {
  it('are cached for two thirds of their lifetime', async () => {
    const clock = new ManualClock(START);
    const cache = createMintedCache({ clock });
    const { mint } = minter(clock, 3_600_000);
    expect(cache.atHand(WHOM)).toBeUndefined();
    const minted = await cache.obtain(WHOM, mint);
    expect(minted).toMatchObject({ expiryTime: '2027-01-15T09:00:00.000Z' });
    clock.advance(2_399_999);
    expect(cache.atHand(WHOM)).toBe(minted);
    expect(await cache.obtain(WHOM, mint)).toBe(minted);
    clock.advance(1);
    expect(cache.atHand(WHOM)).toBeUndefined();
    expect((await cache.obtain(WHOM, mint)).accessToken.reveal()).toBe('token 2');
  });

  it('are not considered fresh by a clock that was set back', async () => {
    const clock = new ManualClock(START);
    const cache = createMintedCache({ clock });
    await cache.obtain(WHOM, minter(clock, 3_600_000).mint);
    clock.jump(-3_600_000);
    expect(cache.atHand(WHOM)).toBeUndefined();
  });

  it('do not live longer if a clock that ran ahead is set back, or if one of the two clocks stops', async () => {
    const clock = new ManualClock(START);
    const cache = createMintedCache({ clock });
    await cache.obtain(WHOM, minter(clock, 3_600_000).mint);
    clock.advance(2_000_000);
    clock.jump(-1_900_000);
    expect(cache.atHand(WHOM)).toBeDefined();
    clock.advance(400_000);
    expect(cache.atHand(WHOM)).toBeUndefined();
    await cache.obtain(WHOM, minter(clock, 3_600_000).mint);
    clock.jump(2_400_000);
    expect(cache.atHand(WHOM)).toBeUndefined();
  });

  it('are cached by caller and by version', async () => {
    const clock = new ManualClock(START);
    const cache = createMintedCache({ clock });
    const { mint } = minter(clock, 3_600_000);
    await cache.obtain(WHOM, mint);
    for (const other of [{ caller: 'agt_b' }, { version: 2 }, { serviceName: 'AWS' }])
      expect(cache.atHand({ ...WHOM, ...other })).toBeUndefined();
    expect(cache.atHand({ serviceName: 'aws",1,"agt_a', version: 1, caller: '' })).toBeUndefined();
  });

  it.each([undefined, 0, -5_000])('are not cached with a lifetime of %s', async (lifeMs) => {
    const clock = new ManualClock(START);
    const cache = createMintedCache({ clock });
    const { mint, made } = minter(clock, lifeMs);
    await cache.obtain(WHOM, mint);
    await cache.obtain(WHOM, mint);
    expect(made()).toBe(2);
  });

  it('are minted once for a hundred concurrent callers, and again after a failure, which all of them get', async () => {
    const clock = new ManualClock(START);
    const cache = createMintedCache({ clock });
    let calls = 0;
    const failing = async (): Promise<NewCredential> => {
      calls++;
      await Promise.resolve();
      throw new Error('no');
    };
    const all = (mint: () => Promise<NewCredential>) =>
      Promise.allSettled(Array.from({ length: 100 }, () => cache.obtain(WHOM, mint)));
    expect((await all(failing)).map(({ status }) => status)).toEqual(Array(100).fill('rejected'));
    expect(calls).toBe(1);
    const { mint, made } = minter(clock, 60_000);
    const minted = await all(mint);
    expect(new Set(minted.map((one) => one.status === 'fulfilled' && one.value)).size).toBe(1);
    expect(made()).toBe(1);
  });

  it('are limited in number: the least recently used is dropped', async () => {
    const clock = new ManualClock(START);
    const cache = createMintedCache({ clock, maxKept: 2 });
    const { mint } = minter(clock, 60_000);
    const of = (caller: string): MintedFor => ({ ...WHOM, caller });
    await cache.obtain(of('a'), mint);
    await cache.obtain(of('b'), mint);
    cache.atHand(of('a'));
    await cache.obtain(of('c'), mint);
    expect(['a', 'b', 'c'].map((caller) => cache.atHand(of(caller)) !== undefined)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('are limited in size', async () => {
    const clock = new ManualClock(START);
    const cache = createMintedCache({ clock, maxCharacters: 100_000 });
    const large = async (): Promise<NewCredential> => ({
      accessToken: new Secret('t'.repeat(40_000)),
      expiryMs: clock.now() + 60_000,
    });
    const callers = ['a', 'b', 'c', 'd'];
    for (const caller of callers) await cache.obtain({ ...WHOM, caller }, large);
    const left = callers.map((caller) => cache.atHand({ ...WHOM, caller }) !== undefined);
    expect(left).toEqual([false, false, true, true]);
    clock.advance(60_000);
    cache.tidy(() => 1);
    for (const caller of callers) await cache.obtain({ ...WHOM, caller }, large);
    expect(callers.filter((caller) => cache.atHand({ ...WHOM, caller }) !== undefined)).toHaveLength(2);
  });

  it('are dropped once their record is replaced or deleted', async () => {
    const clock = new ManualClock(START);
    const cache = createMintedCache({ clock });
    const { mint } = minter(clock, 60_000);
    const names = ['kept', 'replaced', 'deleted'];
    for (const serviceName of names) await cache.obtain({ ...WHOM, serviceName }, mint);
    for (const caller of ['agt_b', 'agt_c'])
      await cache.obtain({ ...WHOM, serviceName: 'kept', caller }, mint);
    const asked: string[] = [];
    cache.tidy((name) => (asked.push(name), { kept: 1, replaced: 2 }[name]));
    // A look at the database each, however many callers there are.
    expect(asked.toSorted()).toEqual(names.toSorted());
    const left = names.map((serviceName) => cache.atHand({ ...WHOM, serviceName }) !== undefined);
    expect(left).toEqual([true, false, false]);
  });
});
