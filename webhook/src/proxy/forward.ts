import { answerFieldsThatTravel } from '@svault/shared';
import {
  type AnswerHead,
  type Egress,
  EgressFailed,
  EgressRefused,
  type EgressStream,
  type TakeAnswer,
} from '@svault/shared/egress';
import { refusal } from '../errors.ts';

/** The head of an upstream's answer. */
export type UpstreamAnswer = AnswerHead;

export type UpstreamCall = Omit<EgressStream, 'headTimeoutMs' | 'idleTimeoutMs' | 'signal'> & {
  /** How long whoever asked has been waiting already, for a refresh for instance. */
  readonly waitedMs: number;
  /** Of whoever asked: ends the call once they are gone. */
  readonly signal: AbortSignal;
};

/** How long an upstream may keep a caller waiting. */
export interface Patience {
  /** For the head of its answer, together with what went on before. */
  readonly headMs: number;
  /** Between two pieces of its body. */
  readonly idleMs: number;
}

/** The service waits 30 s for a head, then takes the webhook for gone (protocol section 2): it has to be told before. */
const PATIENCE: Patience = { headMs: 28_000, idleMs: 5 * 60_000 };
/** Whatever went on before. */
const MIN_HEAD_MS = 1_000;

/**
 * Calls an upstream and hands its answer on as it comes, without the fields that do not travel.
 *
 * Resolves when all of it is handed on, and also when it broke after its head: what takes it is destroyed then, so that
 * nobody takes the piece for the whole. Resolves, too, when whoever asked went away.
 *
 * @throws AppError DESTINATION_NOT_ALLOWED (nothing was called), UPSTREAM_ERROR, UPSTREAM_TIMEOUT, all before `take` was
 *   called
 */
export type Forward = (call: UpstreamCall, scrub: Scrub, take: TakeAnswer) => Promise<void>;

type Scrub = (fields: AnswerHead['fields']) => AnswerHead['fields'];

export function createForward(deps: {
  readonly egress: Pick<Egress, 'stream'>;
  readonly patience?: Patience;
}): Forward {
  const { egress, patience = PATIENCE } = deps;
  return async ({ waitedMs, ...call }, scrub, take) => {
    let begun = false;
    try {
      const times = { headTimeoutMs: headTimeLeft(patience, waitedMs), idleTimeoutMs: patience.idleMs };
      await egress.stream({ ...call, ...times }, ({ status, fields }) => {
        const taker = take({ status, fields: scrub(answerFieldsThatTravel(fields)) });
        begun = true;
        return taker;
      });
    } catch (error) {
      if (begun || call.signal.aborted) return;
      throw refusalOf(error);
    }
  };
}

/** How long an upstream may take for its head when so much time is gone already. */
export const headTimeLeft = ({ headMs }: Pick<Patience, 'headMs'>, waitedMs: number): number =>
  Math.min(headMs, Math.max(headMs - waitedMs, MIN_HEAD_MS));

/** Without the failure itself as its cause: that of a broken answer quotes it, with what the upstream echoed. */
function refusalOf(error: unknown): unknown {
  if (error instanceof EgressRefused)
    return refusal('DESTINATION_NOT_ALLOWED', 'this destination may not be called', {
      reason: error.message,
    });
  if (!(error instanceof EgressFailed)) return error;
  const { kind } = error;
  if (kind === 'timeout')
    return refusal('UPSTREAM_TIMEOUT', 'the upstream did not answer in time', { reason: kind });
  return refusal('UPSTREAM_ERROR', 'the upstream gave no answer', { reason: kind });
}
