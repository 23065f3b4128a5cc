import type { Clock, Id } from '@svault/shared';
import type { AuditWriter } from '../audit/audit-writer.ts';
import type { DenialCounter } from '../audit/denial-counter.ts';
import { ApiError } from '../core/errors.ts';
import type { Admission, Counter, Limiter, LimiterVerdict } from '../limits/limiter.ts';
import type { Limits } from '../limits/limits.ts';
import type { PolicyEvaluator } from '../policies/evaluate.ts';
import { type Denial, type Denied, denied, plainDenial } from './decision.ts';
import type { Approvals } from './approvals.ts';
import type { Evaluation } from './evaluate-request.ts';
import type { DenialRecorder } from './record-denial.ts';
import type { CallerSubject } from './subject.ts';

/** What the pipelines of agents and of proxies need. */
export interface PipelineDependencies {
  readonly limiter: Limiter;
  readonly limits: Limits;
  readonly policies: PolicyEvaluator;
  readonly audit: AuditWriter;
  readonly denials: DenialCounter;
  readonly approvals: Approvals;
  /** Seconds until the next call of a vault's webhook that is known to be offline; 0 where it is not. */
  readonly offlineForSeconds: (vaultId: Id<'vlt'>) => number;
  readonly clock: Clock;
}

/** How a caller is found and checked. */
export interface CallerSteps<Subject> {
  /** Logged with a denial; undefined where the request names no valid one. */
  readonly serviceName: string | undefined;
  readonly find: () => Subject | undefined | Promise<Subject | undefined>;
  /** Denials that precede the limits. */
  readonly check: (subject: Subject) => Denial | undefined;
}

/** What the pipelines of agents and proxies differ in. */
interface PipelineSteps<Subject, Result, Decision> extends CallerSteps<Subject> {
  readonly traffic: Admission['traffic'];
  /** Asks the limiter (`countOnce`). */
  readonly count: (admission: Admission) => Promise<LimiterVerdict>;
  readonly callerId: (subject: Subject) => Admission['callerId'];
  /** Whether the evaluation takes so much time that only what the limits let through may cause it. */
  readonly isCostly?: (subject: Subject) => boolean;
  readonly evaluate: (subject: Subject, nowMs: number) => Evaluation<Result>;
  /** @returns undefined, with nothing written, where the precondition failed */
  readonly conclude: (subject: Subject, result: Result) => Promise<Decision | undefined> | Decision;
}

/**
 * The specification's "Pipeline order for credential access", for agents and proxies alike: caller, limits, evaluation,
 * record. Nothing else in the control plane issues agents' tickets or lets a proxied request through.
 *
 * The state is read at the request, and the transaction that records an access checks it again: an access that follows
 * a suspend, revoke, lock or unbind is never recorded. Each decision about a known caller is durable before it is answered.
 *
 * @throws ApiError AUDIT_UNAVAILABLE when the decision cannot be recorded
 */
export function runPipeline<Subject extends CallerSubject, Result, Decision>(
  { limits, clock }: Pick<PipelineDependencies, 'limits' | 'clock'>,
  denials: DenialRecorder<Subject>,
  steps: PipelineSteps<Subject, Result, Decision>,
): Promise<Decision | Denied> {
  const { serviceName, traffic, count } = steps;
  return retryOnConflict(async () => {
    const identified = await identify(denials, steps);
    if (identified.outcome === 'denied') return identified;
    const { subject } = identified;

    const admission = {
      vaultId: subject.vaultId,
      callerId: steps.callerId(subject),
      traffic,
      aggregateLimit: limits.aggregate(subject),
    };
    if (steps.isCostly?.(subject) === true) {
      const admitted = await count({ ...admission, extraCounters: [] });
      if (!admitted.allowed) return denials.denyByLimiter(subject, serviceName, admitted, []);
    }
    const evaluation = steps.evaluate(subject, clock.now());
    const { extraCounters, rates } = evaluation;
    const verdict = await count({ ...admission, extraCounters });
    if (!verdict.allowed) return denials.denyByLimiter(subject, serviceName, verdict, rates);
    if (evaluation.denial !== undefined) return denials.deny(subject, serviceName, evaluation.denial);
    return steps.conclude(subject, evaluation.result);
  });
}

/** Finds and checks a caller, and counts nothing. */
export async function identify<Subject extends CallerSubject>(
  denials: DenialRecorder<Subject>,
  { serviceName, find, check }: CallerSteps<Subject>,
): Promise<Denied | { readonly outcome: 'identified'; readonly subject: Subject }> {
  const subject = await find();
  if (subject === undefined) return denied(plainDenial('INVALID_KEY'));
  const denial = check(subject);
  if (denial !== undefined) return denials.denyUncounted(subject, serviceName, denial);
  return { outcome: 'identified', subject };
}

/**
 * Each further one needs another change of the account between a read and the write that follows it. A change that waits
 * for the account's lock before the write makes an attempt fail, so several people's scripts can end ten in sequence.
 */
const MAX_ATTEMPTS = 100;

/**
 * Decides again where the state changed before the decision was recorded, or where another request took the last use of a
 * rule.
 *
 * @param attempt reads, decides and records; undefined, with nothing written, where its precondition failed
 * @throws ApiError AUDIT_UNAVAILABLE where every attempt failed
 */
async function retryOnConflict<Decision>(attempt: () => Promise<Decision | undefined>): Promise<Decision> {
  for (let attempts = 1; attempts <= MAX_ATTEMPTS; attempts++) {
    const decision = await attempt();
    if (decision !== undefined) return decision;
  }
  throw new ApiError(
    'AUDIT_UNAVAILABLE',
    'The access kept changing while it was being recorded; ask again.',
    {
      details: { retryAfter: 1 },
    },
  );
}

/**
 * Asks the limiter about one request, which may be decided more than once: each counter is counted once, and a further
 * decision counts only those that are new or whose limit or window changed.
 */
export function countOnce(limiter: Limiter): (admission: Admission) => Promise<LimiterVerdict> {
  let counted: Counter[] | undefined;

  const takeNew = async (
    { vaultId, extraCounters }: Admission,
    known: Counter[],
  ): Promise<LimiterVerdict> => {
    for (const counter of extraCounters.filter((each) => !known.some((one) => isSame(one, each)))) {
      const verdict = await limiter.take(counter, vaultId);
      if (!verdict.allowed) return { ...verdict, key: counter.key };
      known.push(counter);
    }
    return { allowed: true };
  };

  return async (admission) => {
    if (counted !== undefined) return takeNew(admission, counted);
    const verdict = await limiter.admit(admission);
    if (verdict.allowed) counted = [...admission.extraCounters];
    return verdict;
  };
}

/** An updated rule keeps its key. */
const isSame = (one: Counter, other: Counter): boolean =>
  one.key === other.key && one.limit === other.limit && one.windowMs === other.windowMs;
