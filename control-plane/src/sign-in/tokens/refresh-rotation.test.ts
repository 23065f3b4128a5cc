import { createMasterKeys } from '@svault/server-kit/master-keys';
import { ManualClock, hashKey } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import { createRotation, refreshTokenState } from './refresh-rotation.ts';
import { createTokenFamilies } from './token-family.ts';

const families = createTokenFamilies({ name: 'a', access: 'svsess', refresh: 'svsessr' });
const clock = new ManualClock();
const rotation = createRotation({
  families,
  name: 'cli-rotation',
  masterKeys: createMasterKeys([new Uint8Array(32).fill(1)]),
  clock,
});

describe('a refresh token', () => {
  const { refreshToken: first } = families.issue();
  const { pair, previous } = rotation.rotate('ses_1', first);
  const stored = { refreshHash: hashKey(pair.refreshToken), previous };

  it('is current, or the previous one within a grace period of 10 seconds, or reused', () => {
    expect(refreshTokenState(pair.refreshToken, stored, clock)).toBe('current');
    expect(refreshTokenState(first, stored, clock)).toBe('within-grace');
    clock.advance(10_000);
    expect(refreshTokenState(first, stored, clock)).toBe('within-grace');
    clock.advance(1);
    expect(refreshTokenState(first, stored, clock)).toBe('reused');
    clock.jump(-10_002);
    expect(refreshTokenState(first, stored, clock)).toBe('reused');
    clock.jump(1);
    expect(refreshTokenState(families.issue().refreshToken, stored, clock)).toBe('reused');
  });

  it('is reused in a session that nobody may refresh', () => {
    expect(refreshTokenState(first, { refreshHash: undefined, previous: undefined }, clock)).toBe('reused');
  });

  it('is replayed to the pair that it was rotated to, in its own session only', () => {
    expect(rotation.replay('ses_1', first, previous)).toEqual(pair);
    expect(() => rotation.replay('ses_2', first, previous)).toThrow();
    expect(rotation.replay('ses_1', families.issue().refreshToken, previous)).not.toEqual(pair);
  });

  it('is rotated to another pair each time, and stored as a hash', () => {
    expect(rotation.rotate('ses_1', first).pair).not.toEqual(pair);
    expect(previous).toMatchObject({ refreshHash: hashKey(first) });
    expect(JSON.stringify(previous)).not.toContain(first);
  });
});
