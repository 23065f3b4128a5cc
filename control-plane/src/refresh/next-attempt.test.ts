import { formatTime } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import { beginning, settled } from './next-attempt.ts';
import type { RefreshResult } from './refresh-result.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const at = (seconds: number): string => formatTime(NOW + seconds * 1_000);
const chance = { nowMs: NOW, random: 0 };

describe('an attempt that begins', () => {
  it('keeps others off for as long as it may take', () => {
    expect(beginning(3, undefined, NOW)).toEqual({ version: 3, failures: 0, nextAt: at(60) });
  });

  it('remembers the failures of its version, and of no other', () => {
    const former = { version: 3, failures: 5, nextAt: at(-1) };
    expect(beginning(3, former, NOW).failures).toBe(5);
    expect(beginning(4, former, NOW).failures).toBe(0);
  });
});

describe('what an attempt leaves behind', () => {
  const begun = { version: 3, failures: 2, nextAt: at(60) };

  it.each<[RefreshResult, number, number]>([
    [{ outcome: 'refreshed' }, 0, 120],
    [{ outcome: 'accepted' }, 3, 240],
    [{ outcome: 'failed' }, 3, 240],
    [{ outcome: 'not_refreshable' }, 3, 240],
    [{ outcome: 'provider_not_configured' }, 3, 240],
    [{ outcome: 'reauth_needed' }, 3, 240],
    [{ outcome: 'webhook_unavailable' }, 3, 240],
    // No attempt: it waits for the window, or for whoever is at it.
    [{ outcome: 'limited', retryAfterSeconds: 1_234 }, 2, 1_234],
    [{ outcome: 'busy', retryAfterSeconds: 7 }, 2, 7],
    [{ outcome: 'limited', retryAfterSeconds: 1e9 }, 2, 3_600],
  ])('%j', (result, failures, seconds) => {
    expect(settled(begun, result, chance)).toEqual({ version: 3, failures, nextAt: at(seconds) });
  });

  it('leaves some of a pause to chance', () => {
    const { nextAt } = settled(begun, { outcome: 'failed' }, { nowMs: NOW, random: 0.5 });
    expect(nextAt).toBe(at(210));
  });
});
