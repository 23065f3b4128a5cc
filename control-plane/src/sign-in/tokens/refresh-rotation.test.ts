import { createMasterKeys } from '@svault/server-kit/master-keys';
import { ManualClock, hashKey } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import { createRotation, standingOf } from './refresh-rotation.ts';
import { createTokenFamilies } from './token-family.ts';

const families = createTokenFamilies({ name: 'a', access: 'svsess', refresh: 'svsessr' });
const clock = new ManualClock();
const rotation = createRotation({
  families,
  name: 'test-rotation',
  masterKeys: createMasterKeys([new Uint8Array(32).fill(1)]),
  clock,
});

describe('a refresh token', () => {
  const [first, { pair, former }] = (() => {
    const { refreshToken } = families.firstPair();
    return [refreshToken, rotation.next('ses_1', refreshToken)] as const;
  })();
  const kept = { refreshHash: hashKey(pair.refreshToken), former };

  it('is the present one, or the one before for 10 seconds, or was used', () => {
    expect(standingOf(pair.refreshToken, kept, clock)).toBe('present');
    expect(standingOf(first, kept, clock)).toBe('repeated');
    clock.advance(10_000);
    expect(standingOf(first, kept, clock)).toBe('repeated');
    clock.advance(1);
    expect(standingOf(first, kept, clock)).toBe('used');
    clock.jump(-10_002);
    expect(standingOf(first, kept, clock)).toBe('used');
    clock.jump(1);
    expect(standingOf(families.firstPair().refreshToken, kept, clock)).toBe('used');
  });

  it('is nothing where nobody may refresh', () => {
    expect(standingOf(first, { refreshHash: undefined, former: undefined }, clock)).toBe('used');
  });

  it('that comes again leads to the pair it led to, in its own session only', () => {
    expect(rotation.again('ses_1', first, former)).toEqual(pair);
    expect(() => rotation.again('ses_2', first, former)).toThrow();
    expect(rotation.again('ses_1', families.firstPair().refreshToken, former)).not.toEqual(pair);
  });

  it('is followed by another pair each time', () => {
    expect(rotation.next('ses_1', first).pair).not.toEqual(pair);
    expect(former).toMatchObject({ refreshHash: hashKey(first) });
    expect(JSON.stringify(former)).not.toContain(first);
  });
});
