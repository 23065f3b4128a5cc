import type { Capability } from '@svault/shared/schemas';
import type { BindingTranscript } from '../binding/transcript.ts';
import type { Tools } from './tools.ts';

interface Described {
  /** `area.what`, in kebab case. */
  readonly id: string;
  /** What a webhook does that passes, as one sentence. */
  readonly title: string;
  /** Ids of `requirements/v1.yaml` that this check observes. */
  readonly requirements: readonly [string, ...string[]];
}

/** What shows on a webhook that is bound. */
export interface WebhookCheck extends Described {
  /** All of what a webhook has to claim for the check to be scored; none: it is scored for every webhook. */
  readonly claims?: readonly Capability[];
  /** What it takes its time for, such as `a provider that never answers`: it runs together with others that wait. */
  readonly waitsFor?: string;
  /**
   * Talks to the webhook and compares.
   * @throws CheckFailed, NotTestable, CheckSkipped, NoAnswer
   */
  run(tools: Tools): Promise<void>;
}

/** What showed while the webhook was being bound, which happens once, before everything else. */
export interface BindingCheck extends Described {
  /** @throws CheckFailed, NotTestable, CheckSkipped, NoAnswer */
  observe(transcript: BindingTranscript): void;
}

/**
 * One observable promise of the protocol. The id is stable: it is named in reports, in `--only`, in baselines and in
 * the requirements file, and never means something else later.
 */
export type Check = WebhookCheck | BindingCheck;
