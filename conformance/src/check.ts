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
