import type { Answer } from './http/client.ts';

/** The webhook answered something else than the protocol says. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
  readonly answer: Answer;
  readonly expected: string;
  constructor(answer: Answer, expected: string) {
    super(`expected ${expected}`);
    this.answer = answer;
    this.expected = expected;
  }
}

/** The webhook does not claim what the check is about. */
export class CheckSkipped extends Error {
  override readonly name = 'CheckSkipped';
}
