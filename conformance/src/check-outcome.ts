import type { Answer } from './http/client.ts';

/** The webhook answered something else than the protocol says. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
  /** Absent where what is wrong was no answer, but the link that the run was given. */
  readonly answer: Answer | undefined;
  readonly expected: string;
  constructor(answer: Answer | undefined, expected: string) {
    super(`expected ${expected}`);
    this.answer = answer;
    this.expected = expected;
  }
}

/**
 * What a check has to have first did not come about, so that the check cannot tell anything. A failure, since a promise
 * that nobody could look at is not kept as far as anybody knows.
 */
export class NotTestable extends Error {
  override readonly name = 'NotTestable';
  /** What was answered where it went wrong. */
  readonly answer: Answer | undefined;
  /** @param reason for a reader who is to mend it, such as `storing a JWT was refused` */
  constructor(reason: string, answer?: Answer) {
    super(reason);
    this.answer = answer;
  }
}

/** The webhook does not claim what the check is about, or was bound before the run. */
export class CheckSkipped extends Error {
  override readonly name = 'CheckSkipped';
}
