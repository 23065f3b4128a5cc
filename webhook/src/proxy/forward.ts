import { type EndSignal, answerFieldsThatTravel } from '@svault/shared';
import {
  type AnswerHead,
  type Egress,
  EgressRefused,
  type EgressStream,
  type TakeAnswer,
  failedCallOf,
} from '@svault/shared/egress';
import { callFailureText } from '@svault/shared/schemas';
import { ApiError } from '../errors.ts';
import { RedirectFailed, isFollowable, streamFollowing } from './follow-redirects.ts';

/** The head of an upstream's answer. */
export type UpstreamAnswer = AnswerHead;

export type UpstreamCall = Omit<EgressStream, 'headTimeoutMs' | 'idleTimeoutMs' | 'signal'> & {
  /** How long the caller has been waiting already, for a refresh for instance. */
  readonly waitedMs: number;
  /** Aborted when the caller has disconnected. */
  readonly signal: EndSignal;
  /** Whether redirects to other origins are followed, without the credential. */
  readonly followsRedirects?: boolean;
};

interface Timeouts {
  /** For the head of the upstream's answer, including what the caller waited for before. */
  readonly headMs: number;
  /** Between two pieces of its body. */
  readonly idleMs: number;
}

/** The control plane waits 30 s for a head (PROTOCOL.md section 2), so the webhook must answer before. */
const TIMEOUTS: Timeouts = { headMs: 28_000, idleMs: 5 * 60_000 };
/** Left for the upstream, however long the caller waited before. */
const MIN_HEAD_MS = 1_000;

type Scrub = (fields: AnswerHead['fields']) => AnswerHead['fields'];

/** Calls an upstream and streams its answer, without the fields that end here. */
export function createForward(deps: {
  readonly egress: Pick<Egress, 'stream'>;
  readonly timeouts?: Timeouts;
}) {
  const { egress, timeouts = TIMEOUTS } = deps;
  /**
   * Resolves when the whole answer was passed on, when it broke after its head (its stream to the caller is destroyed
   * then, so that a part is not taken for the whole), and when the caller disconnected.
   *
   * @throws ApiError DESTINATION_NOT_ALLOWED (nothing was called), UPSTREAM_ERROR, UPSTREAM_TIMEOUT, all before `take`
   *   was called
   */
  return async (upstreamCall: UpstreamCall, scrub: Scrub, take: TakeAnswer): Promise<void> => {
    const { waitedMs, followsRedirects = false, ...request } = upstreamCall;
    const headTimeoutMs = headTimeLeft(timeouts, waitedMs);
    const call = { ...request, headTimeoutMs, idleTimeoutMs: timeouts.idleMs };
    let begun = false;
    const answerOf = ({ status, fields }: AnswerHead): AnswerHead => ({
      status,
      fields: scrub(answerFieldsThatTravel(fields)),
    });
    const begin: TakeAnswer = (head) => {
      const taker = take(head);
      begun = true;
      return taker;
    };
    try {
      if (followsRedirects && isFollowable(call)) await streamFollowing(egress, call, answerOf, begin);
      else await egress.stream(call, (head) => begin(answerOf(head)));
    } catch (error) {
      if (begun || call.signal.aborted) return;
      throw refusalOf(error, call.url);
    }
  };
}

export type Forward = ReturnType<typeof createForward>;

/** How long an upstream may take for its head after the caller waited this long. */
export const headTimeLeft = ({ headMs }: Pick<Timeouts, 'headMs'>, waitedMs: number): number =>
  Math.min(headMs, Math.max(headMs - waitedMs, MIN_HEAD_MS));

/** Has no `cause`: the error of a broken answer quotes it, and so the credential that the upstream may echo. */
function refusalOf(error: unknown, upstreamUrl: string): unknown {
  if (error instanceof RedirectFailed)
    return new ApiError('UPSTREAM_ERROR', callFailureText('redirect', upstreamUrl), {
      reason: `redirect: ${error.message}`,
      details: { cause: 'redirect' },
    });
  const failed = failedCallOf(error);
  if (failed === undefined) return error;
  const { code, cause } = failed;
  const reason = error instanceof EgressRefused ? error.message : cause;
  return new ApiError(code, callFailureText(cause, upstreamUrl), { reason, details: { cause } });
}
