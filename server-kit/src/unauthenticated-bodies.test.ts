import { describe, expect, it } from 'vitest';
import { createUnauthenticatedBodies } from './unauthenticated-bodies.ts';

const KIB = 1024;

describe('the memory budget for unauthenticated bodies', () => {
  it('evicts the oldest body once it is spent, and never the newest', () => {
    const left: number[] = [];
    const room = createUnauthenticatedBodies(32 * KIB);
    for (const id of [1, 2, 3, 4, 5]) room.enter(() => left.push(id));
    expect(left).toEqual([1]);
    room.enter(() => left.push(6)).holds(9 * KIB);
    expect(left).toEqual([1, 2, 3, 4]);
  });

  it('counts the received bytes of each body, and evicts one that alone exceeds it', () => {
    const left: string[] = [];
    const room = createUnauthenticatedBodies(32 * KIB);
    const first = room.enter(() => left.push('first'));
    first.holds(10 * KIB);
    first.holds(24 * KIB);
    expect(left).toEqual([]);
    first.holds(24 * KIB + 1);
    expect(left).toEqual(['first']);
    room.enter(() => left.push('second')).holds(24 * KIB);
    expect(left).toEqual(['first']);
  });

  it('counts the memory of a finished body as free, once', () => {
    const left: string[] = [];
    const room = createUnauthenticatedBodies(16 * KIB);
    const gone = room.enter(() => left.push('gone'));
    gone.leave();
    gone.leave();
    gone.holds(100 * KIB);
    room.enter(() => left.push('second'));
    room.enter(() => left.push('third'));
    expect(left).toEqual([]);
    room.enter(() => left.push('fourth'));
    expect(left).toEqual(['second']);
  });
});
