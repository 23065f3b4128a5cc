import { expect, test } from 'vitest';
import { NotTestable } from '../check/outcome.ts';
import { NoAnswer, type Answer, type Client, type Sent } from './client.ts';
import { withRunLimits } from './run-limits.ts';

const SENT: Sent = { method: 'GET', path: '/v1/health', headers: [], body: new Uint8Array() };
const ANSWER: Answer = { sent: SENT, status: 200, headers: [], body: new Uint8Array() };
const RUN_LIMITS = { lostMs: 1000, unanswered: 3, runMs: 10_000 };

/** A client whose answers are decided beforehand, on a clock that stands still between them. */
function scripted(): { client: Client; answers: Array<{ afterMs: number; ok: boolean }>; now: () => number } {
  let nowMs = 0;
  const answers: Array<{ afterMs: number; ok: boolean }> = [];
  const client: Client = {
    send: async () => {
      const { afterMs, ok } = answers.shift() ?? { afterMs: 0, ok: true };
      nowMs += afterMs;
      if (ok) return ANSWER;
      throw new NoAnswer(SENT, new Error('none'));
    },
    open: () => Promise.reject(new Error('not asked for')),
    close: () => undefined,
  };
  return { client, answers, now: () => nowMs };
}

async function askedUntilGivenUp(
  script: ReadonlyArray<readonly [afterMs: number, ok: boolean]>,
): Promise<number> {
  const { client, answers, now } = scripted();
  answers.push(...script.map(([afterMs, ok]) => ({ afterMs, ok })));
  const patient = withRunLimits(client, RUN_LIMITS, now);
  for (let asked = 0; asked < 100; asked++) {
    try {
      await patient.send(SENT);
    } catch (error) {
      if (error instanceof NotTestable) return asked;
    }
  }
  return 100;
}

test.each([
  [
    'some fail between others',
    [
      [10, false],
      [10, true],
      [10, false],
      [10, false],
      [10, true],
    ],
    100,
  ],
  [
    'as many fail one after the other as it puts up with',
    [
      [10, true],
      [10, false],
      [10, false],
      [10, false],
    ],
    4,
  ],
  [
    'too much time was lost in all',
    [
      [600, false],
      [1, true],
      [600, false],
    ],
    3,
  ],
  [
    'answers are slow, and come',
    [
      [4000, true],
      [4000, true],
      [1000, true],
    ],
    100,
  ],
  [
    'the whole run is too long',
    [
      [6000, true],
      [5000, true],
    ],
    2,
  ],
] as const)('a run waits until then if %s', async (_, script, asked) => {
  expect(await askedUntilGivenUp(script)).toBe(asked);
});
