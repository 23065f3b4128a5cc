import type { GroupCommit } from '@svault/server-kit/group-commit';
import {
  type ApprovalDecision,
  type ApprovalFacts,
  type ApprovalScope,
  type Clock,
  approvalChallenge,
} from '@svault/shared';
import { APPROVAL_LIMITS, type ApprovalStatus } from '@svault/shared/schemas';
import { type AuditLog, subjectOf } from '../audit/audit-log.ts';
import { ApiError } from '../errors.ts';
import { createSlidingWindow } from '../sliding-window.ts';
import type { Vault } from '../vault/vault.ts';
import type { ApprovalStore, Approver, AskedCounts, StoredApproval } from './approval-store.ts';
import { type ShownRequest, statusOf } from './ask.ts';
import { isApproverOf } from './enrol.ts';
import type { Assertion, Passkeys } from './passkeys.ts';

/** What a person decides, and for how long. */
export interface Decision {
  readonly decision: ApprovalDecision;
  readonly scope: ApprovalScope;
}

/** A request as its page shows it. */
export interface ApprovalView {
  readonly id: string;
  readonly status: ApprovalStatus;
  /** Of an allowance; undefined: for one use. */
  readonly standingSeconds: number | undefined;
  readonly expiresAtMs: number;
  /** What is signed, and its parts; undefined once it is erased. */
  readonly signed: { readonly text: string; readonly facts: ApprovalFacts } | undefined;
  readonly shown: ShownRequest;
  /** The longest allowance that the record permits. */
  readonly maxStandingSeconds: number | undefined;
  /** Who decided. */
  readonly approver: Approver | undefined;
  /** What this caller asked in the last 24 hours. */
  readonly counts: AskedCounts;
  /** Without any, nobody can decide. */
  readonly hasApprovers: boolean;
}

/** An assertion that was verified. */
interface Signed {
  readonly text: string;
  /** With its counter. */
  readonly approver: Approver;
  readonly response: Assertion;
}

const DAY_MS = 24 * 3_600_000;
const LIFETIME_MS = APPROVAL_LIMITS.lifetimeSeconds * 1000;
const SILENCE_MS = APPROVAL_LIMITS.silenceSeconds * 1000;
/** Nobody guesses a signature: the bound protects the log, and keeps nobody from deciding. */
const REFUSED_PER_MINUTE = 20;
const STANDING = /^standing:([1-9]\d{1,4})$/;

/**
 * Decisions on requests, each signed by an approver's passkey over what is stored of the request, the decision and its scope,
 * and logged with that signature (PROTOCOL.md section 5.10).
 */
export function createDecideApproval(deps: {
  readonly approvals: Pick<
    ApprovalStore,
    'approval' | 'approvers' | 'countAsked' | 'countSignature' | 'decide' | 'end'
  >;
  readonly vault: Pick<Vault, 'open'>;
  readonly passkeys: Passkeys;
  readonly audit: Pick<AuditLog, 'appendNow'>;
  readonly commit: GroupCommit;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The later of wall clock and time floor, milliseconds since 1970. */
  readonly latestMs: () => number;
}) {
  const { approvals, vault, passkeys, audit, commit, clock, latestMs } = deps;
  const refused = createSlidingWindow({ clock, limit: REFUSED_PER_MINUTE, windowMs: 60_000 });

  /** @throws ApiError NOT_FOUND */
  const mustBeAsked = (id: string): StoredApproval => {
    const approval = approvals.approval(id);
    if (approval === undefined) throw new ApiError('NOT_FOUND', 'there is no such request');
    return approval;
  };

  /** Of the record, since anybody who can write this database could have written it into the request's row. */
  const maxStandingOf = ({ match, serviceName }: StoredApproval): number | undefined =>
    match.standing === undefined ? undefined : vault.open(serviceName)?.settings.approval?.standingSeconds;

  /** @throws ApiError VERSION_CONFLICT, INVALID_REQUEST */
  const mustBeOpenFor = (approval: StoredApproval, asked: Decision): string => {
    const status = statusOf(approval, latestMs());
    if (status !== (asked.decision === 'revoke' ? 'approved' : 'pending') || approval.text === null)
      throw new ApiError('VERSION_CONFLICT', 'this request was decided, used or expired meanwhile');
    mustBePermitted(asked, maxStandingOf(approval));
    return approval.text;
  };

  const refuse = (reason: string, cause?: unknown): ApiError => {
    const retryAfter = refused.take('');
    if (retryAfter !== undefined)
      return new ApiError('RATE_LIMITED', 'too many signatures were refused; a right one is still accepted', {
        details: { retryAfter },
      });
    return new ApiError(
      'SIGNATURE_INVALID',
      'this passkey is not an approver of this webhook, or it signed something else',
      { reason, cause },
    );
  };

  const verify = async (response: Assertion, challenge: Uint8Array): Promise<Approver> => {
    const approver = approvals.approvers().find((each) => isApproverOf(each, response));
    if (approver === undefined) throw refuse('unknown_passkey');
    try {
      const { counter } = await passkeys.verifyAssertion(response, challenge, approver);
      return { ...approver, counter };
    } catch (error) {
      throw refuse(error instanceof Error ? error.message : 'assertion', error);
    }
  };

  /** In an open transaction. @throws ApiError NOT_FOUND, VERSION_CONFLICT, INVALID_REQUEST, SIGNATURE_INVALID */
  const recordNow = (id: string, asked: Decision, { text, approver, response }: Signed): void => {
    // Read again: while the signature was verified another decision, or the approver's removal, may have come first.
    const approval = mustBeAsked(id);
    mustBeOpenFor(approval, asked);
    if (!approvals.approvers().some((each) => each.id === approver.id)) throw refuse('approver_removed');
    approvals.countSignature(approver.id, approver.counter);
    const isRevoked = asked.decision === 'revoke';
    if (isRevoked) approvals.end({ id });
    else approvals.decide(outcomeOf(id, asked, approver.id, latestMs()));
    const { clientDataJSON, authenticatorData, signature } = response.response;
    const signed = { authenticatorData, clientDataJSON, signature };
    audit.appendNow({
      eventType: isRevoked ? 'APPROVAL_REVOKED' : 'APPROVAL_DECIDED',
      outcome: 'success',
      serviceName: approval.serviceName,
      ...subjectOf(approval.sub),
      detail: { approval: id, text, ...asked, approver: approver.id, ...signed },
    });
  };

  return {
    /** @throws ApiError NOT_FOUND */
    view: (id: string): ApprovalView => {
      const approval = mustBeAsked(id);
      const { text, sub, standingSeconds, expiresAtMs, approverId } = approval;
      const nowMs = latestMs();
      const approvers = approvals.approvers();
      return {
        id,
        status: statusOf(approval, nowMs),
        standingSeconds: standingSeconds ?? undefined,
        expiresAtMs,
        signed: text === null ? undefined : { text, facts: JSON.parse(text) as ApprovalFacts },
        shown: shownOf(approval),
        maxStandingSeconds: maxStandingOf(approval),
        approver: approvers.find((approver) => approver.id === approverId),
        counts: approvals.countAsked(sub, nowMs - DAY_MS),
        hasApprovers: approvers.length > 0,
      };
    },
    /** What a passkey is to sign. @throws ApiError NOT_FOUND, VERSION_CONFLICT, INVALID_REQUEST */
    options: (id: string, asked: Decision) => {
      const approval = mustBeAsked(id);
      const text = mustBeOpenFor(approval, asked);
      const challenge = approvalChallenge(text, asked.decision, asked.scope);
      return { text, shown: shownOf(approval), publicKey: passkeys.requestOptions(challenge) };
    },
    /**
     * @throws ApiError NOT_FOUND, VERSION_CONFLICT, INVALID_REQUEST; SIGNATURE_INVALID for an assertion that does not hold, or
     *   RATE_LIMITED for one beyond 20 a minute
     */
    decide: async (id: string, asked: Decision, response: Assertion): Promise<void> => {
      const text = mustBeOpenFor(mustBeAsked(id), asked);
      const approver = await verify(response, approvalChallenge(text, asked.decision, asked.scope));
      const failure = await commit.run(() => {
        try {
          recordNow(id, asked, { text, approver, response });
          return undefined;
        } catch (error) {
          // Not thrown: that would have the other works of its group run again.
          if (error instanceof ApiError) return error;
          throw error;
        }
      });
      if (failure !== undefined) throw failure;
    },
  };
}

export type DecideApproval = ReturnType<typeof createDecideApproval>;

const shownOf = ({ shown }: StoredApproval): ShownRequest =>
  shown === null ? {} : (JSON.parse(shown) as ShownRequest);

/** What a decision makes of a request that is pending. */
function outcomeOf(
  id: string,
  { decision, scope }: Decision,
  approverId: string,
  decidedAtMs: number,
): Parameters<ApprovalStore['decide']>[0] {
  const standingSeconds = secondsOf(scope);
  const decided = { id, standingSeconds, approverId, decidedAtMs };
  if (decision !== 'approve') return { ...decided, status: 'denied', expiresAtMs: decidedAtMs + SILENCE_MS };
  const lifetimeMs = standingSeconds === undefined ? LIFETIME_MS : standingSeconds * 1000;
  return { ...decided, status: 'approved', expiresAtMs: decidedAtMs + lifetimeMs };
}

/** Of a scope that is an allowance. */
function secondsOf(scope: ApprovalScope): number | undefined {
  const seconds = STANDING.exec(scope)?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}

/** @throws ApiError INVALID_REQUEST for an allowance that the record does not permit */
function mustBePermitted({ decision, scope }: Decision, maxSeconds: number | undefined): void {
  if (scope === 'once') return;
  const seconds = secondsOf(scope);
  const isPermitted =
    decision === 'approve' &&
    seconds !== undefined &&
    seconds >= APPROVAL_LIMITS.minStandingSeconds &&
    seconds <= (maxSeconds ?? 0);
  if (!isPermitted) throw new ApiError('INVALID_REQUEST', 'scope: the credential permits no such allowance');
}
