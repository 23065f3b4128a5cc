import type { Answer } from '../http/client.ts';

/**
 * What a webhook answered while it was being bound, step by step in this order. A step that never came is absent,
 * since the one before it did not end as it should.
 */
export interface BindingTranscript {
  /** The exchange with the right code, signed with it. */
  readonly exchange: Answer;
  /** The first request under the new key, which completes the binding. */
  readonly firstHealth?: Answer;
}
