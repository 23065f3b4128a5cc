import { describe, expect, it } from 'vitest';
import { createStrangersRoom } from './strangers-room.ts';

const KIB = 1024;

describe('the room for bodies of strangers', () => {
  it('sends out who has been in it longest once it is full, and never who just came', () => {
    const left: number[] = [];
    const room = createStrangersRoom(32 * KIB);
    for (const id of [1, 2, 3, 4, 5]) room.enter(() => left.push(id));
    expect(left).toEqual([1]);
    room.enter(() => left.push(6)).holds(9 * KIB);
    expect(left).toEqual([1, 2, 3, 4]);
  });

  it('counts the bytes that each has sent by now, and sends out who alone is too large for it', () => {
    const left: string[] = [];
    const room = createStrangersRoom(32 * KIB);
    const first = room.enter(() => left.push('first'));
    first.holds(10 * KIB);
    first.holds(24 * KIB);
    expect(left).toEqual([]);
    first.holds(24 * KIB + 1);
    expect(left).toEqual(['first']);
    room.enter(() => left.push('second')).holds(24 * KIB);
    expect(left).toEqual(['first']);
  });

  it('has the place again of who left, once', () => {
    const left: string[] = [];
    const room = createStrangersRoom(16 * KIB);
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
