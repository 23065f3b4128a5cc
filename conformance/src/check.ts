import type { Answer } from './http/client.ts';
import type { Tools } from './tools.ts';

/**
 * One observable promise of the protocol. The id is stable: it is named in reports, in `--only` and in the
 * requirements file, and never means something else later.
 */
export interface Check {
  /** `area.what`, in kebab case. */
  readonly id: string;
  /** What a webhook does that passes, as one sentence. */
  readonly title: string;
  /** Ids of `requirements/v1.yaml` that this check observes. */
  readonly requirements: readonly [string, ...string[]];
  /**
   * Talks to the webhook and compares.
   * @throws CheckFailed, CheckSkipped, NoAnswer
   */
  run(tools: Tools): Promise<void>;
}

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
