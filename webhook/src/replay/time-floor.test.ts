import { describe, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { type TimeFloorStore, createTimeFloor } from './time-floor.ts';

const START = Date.UTC(2026, 5, 1);

function memoryStore(): TimeFloorStore & { writes: number } {
  let kept: number | undefined;
  const store = {
    writes: 0,
    floor: () => kept,
    raiseFloor: (floorMs: number): void => {
      store.writes += 1;
      kept = Math.max(kept ?? 0, floorMs);
    },
  };
  return store;
}

describe('the time floor', () => {
  it('is 0 until a request has confirmed the time, whatever the wall clock says', () => {
    const clock = new ManualClock(START);
    const floor = createTimeFloor({ clock, store: memoryStore() });
    clock.advance(60_000);
    expect(floor.nowMs()).toBe(0);
    expect(floor.latestMs()).toBe(START + 60_000);
  });

  it('follows the monotonic clock after the wall clock is set back', () => {
    const clock = new ManualClock(START);
    const floor = createTimeFloor({ clock, store: memoryStore() });
    clock.advance(60_000);
    floor.confirm(clock.now());
    clock.advance(10_000);
    clock.jump(-3_600_000);
    expect(floor.nowMs()).toBe(START + 70_000);
    expect(floor.latestMs()).toBe(START + 70_000);
  });

  it('does not follow a wall clock that no request confirms', () => {
    const clock = new ManualClock(START);
    const floor = createTimeFloor({ clock, store: memoryStore() });
    floor.confirm(clock.now());
    clock.jump(86_400_000);
    expect(floor.nowMs()).toBe(START);
    clock.jump(-86_400_000);
    expect(floor.latestMs()).toBe(START);
  });

  it('is never lowered by a confirmation', () => {
    const clock = new ManualClock(START);
    const floor = createTimeFloor({ clock, store: memoryStore() });
    floor.confirm(START);
    floor.confirm(START - 5_000);
    expect(floor.nowMs()).toBe(START);
  });

  it('survives a restart with a clock that was set back', () => {
    const store = memoryStore();
    const floor = createTimeFloor({ clock: new ManualClock(START), store });
    floor.confirm(START);
    floor.save();
    const restarted = createTimeFloor({ clock: new ManualClock(START - 3_600_000), store });
    expect(restarted.nowMs()).toBe(START);
  });

  it('is stored only after it rose enough', () => {
    const clock = new ManualClock(START);
    const store = memoryStore();
    const floor = createTimeFloor({ clock, store });
    floor.confirm(START);
    floor.saveIfRisen(1_000);
    clock.advance(999);
    floor.saveIfRisen(1_000);
    expect(store.writes).toBe(1);
    clock.advance(1);
    floor.saveIfRisen(1_000);
    expect(store.writes).toBe(2);
  });
});
