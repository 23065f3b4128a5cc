import type { Admission, Counter, Limiter, LimiterVerdict } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { CallerSubject } from './caller-subject.ts';

/** Asks the limits about one request, however often it is decided: see {@link countOnce}. */
export type CountOnce = (
  subject: CallerSubject,
  request: Pick<Admission, 'callerId' | 'traffic' | 'extraCounters'>,
) => Promise<LimiterVerdict>;

/**
 * Penalty box, floor and aggregate, and whatever counts besides, for a request that may be decided more than once: each
 * counter is counted once, those of a later decision alone where they are new.
 */
export function countOnce({
  limiter,
  limits,
}: {
  readonly limiter: Limiter;
  readonly limits: Pick<Limits, 'aggregate'>;
}): CountOnce {
  let counted: Set<string> | undefined;

  const countWhatIsNew = async (
    { vaultId }: CallerSubject,
    extraCounters: readonly Counter[],
    known: Set<string>,
  ): Promise<LimiterVerdict> => {
    for (const counter of extraCounters.filter(({ key }) => !known.has(key))) {
      const taken = await limiter.take(counter, vaultId);
      if (!taken.allowed) return { ...taken, key: counter.key };
      known.add(counter.key);
    }
    return { allowed: true };
  };

  return async (subject, { callerId, traffic, extraCounters }) => {
    if (counted !== undefined) return countWhatIsNew(subject, extraCounters, counted);
    const { vaultId } = subject;
    const aggregateLimit = limits.aggregate(subject);
    const verdict = await limiter.admit({ vaultId, callerId, traffic, aggregateLimit, extraCounters });
    if (verdict.allowed) counted = new Set(extraCounters.map(({ key }) => key));
    return verdict;
  };
}
