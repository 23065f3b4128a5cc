import { refusal } from '../core/errors.ts';

/** Each further one needs another change between a read and the write behind it. */
const MAX_ATTEMPTS = 3;

/**
 * Decides again where what a decision rested on has changed before it was written down, or where the last use of a rule
 * went to another request: what stands then is the answer.
 *
 * @param attempt reads, decides and writes; undefined where the decision did not hold, with nothing written
 * @throws AppError AUDIT_UNAVAILABLE where none held
 */
export async function retryOnConflict<Decision>(
  attempt: () => Promise<Decision | undefined>,
): Promise<Decision> {
  for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts++) {
    const decision = await attempt();
    if (decision !== undefined) return decision;
  }
  throw refusal('AUDIT_UNAVAILABLE', 'The access kept changing while it was being recorded; ask again.', {
    details: { retryAfter: 1 },
  });
}
