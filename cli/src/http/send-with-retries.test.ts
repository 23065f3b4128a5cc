import { describe, expect, test } from 'vitest';
import { pauseAfter } from './send-with-retries.ts';

const pauses = (retryAfter?: string, status = 429): (number | undefined)[] =>
  [1, 2, 3, 4].map((attempt) =>
    pauseAfter(
      { status, headers: new Map(retryAfter === undefined ? [] : [['retry-after', retryAfter]]) },
      attempt,
    ),
  );

describe('a GET that is answered 429 is sent again three times', () => {
  // spec: The CLI's GET requests retry on 429 with backoff.
  test.each([
    ['after pauses that double', undefined, [500, 1_000, 2_000]],
    ['and never at once', '0', [500, 1_000, 2_000]],
    ['waits as long as Retry-After says, where that is longer', '1', [1_000, 1_000, 2_000]],
    ['after a minute, which is the window of most limits', '60', [60_000, 60_000, 60_000]],
    ['waits its own pauses, where Retry-After is no number', 'soon', [500, 1_000, 2_000]],
    ['waits its own pauses, where Retry-After is in the past', '-5', [500, 1_000, 2_000]],
  ])('%s', (_how, retryAfter, expected) => {
    expect(pauses(retryAfter)).toEqual([...expected, undefined]);
  });

  test('and not at all where that is too long for a person', () => {
    expect(pauses('66')).toEqual([undefined, undefined, undefined, undefined]);
  });
});

test('no other answer is waited for', () => {
  for (const status of [200, 307, 401, 404, 503])
    expect(pauses('1', status)).toEqual(Array(4).fill(undefined));
});
