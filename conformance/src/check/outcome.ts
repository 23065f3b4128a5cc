import { type Answer, NoAnswer, type Sent } from '../http/client.ts';

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
 * What a check has to have first did not come about, so that the check shows nothing. A failure, since a promise
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

/** What became of one check. */
export type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'skipped'; readonly reason: string }
  | {
      readonly kind: 'failed';
      readonly expected: string;
      /** Why nothing could be said about the check's own promise. */
      readonly notTestable?: string;
      /** Why no answer came. */
      readonly noAnswer?: string;
      readonly sent?: Kept<Sent> | undefined;
      readonly answer?: Kept<Answer> | undefined;
    };

/** A message whose body may be the beginning only. */
export type Kept<Message> = Message & { readonly wholeBytes: number };

/** More than a report shows; the results of a run have to fit into memory whatever was answered. */
const KEPT_BYTES = 16 * 1024;

/**
 * What an error says that a check ended with. One that nobody foresaw is the answer's fault: a check that meets a text
 * where it looks for a list ends with one.
 * @param last the last answer before it
 */
export function outcomeOf(error: unknown, last: Answer | undefined): Outcome {
  if (error instanceof CheckSkipped) return { kind: 'skipped', reason: error.message };
  if (error instanceof NoAnswer)
    return {
      kind: 'failed',
      sent: kept(error.sent),
      noAnswer: error.message,
      expected: error.sent.heldBack?.expected ?? 'an answer',
    };
  if (error instanceof CheckFailed) return failed(error.expected, error.answer);
  if (error instanceof NotTestable)
    return { ...failed(`not testable: ${error.message}`, error.answer), notTestable: error.message };
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return failed(`an answer in the form of the protocol; the suite could not read the answer: ${what}`, last);
}

function failed(expected: string, answer: Answer | undefined): Outcome & { readonly kind: 'failed' } {
  if (answer === undefined) return { kind: 'failed', expected };
  return { kind: 'failed', expected, sent: kept(answer.sent), answer: kept(answer) };
}

function kept<Message extends { readonly body: Uint8Array }>(message: Message): Kept<Message> {
  const { byteLength } = message.body;
  // A copy, so that the rest is let go of.
  const body = byteLength > KEPT_BYTES ? message.body.slice(0, KEPT_BYTES) : message.body;
  return { ...message, body, wholeBytes: byteLength };
}
