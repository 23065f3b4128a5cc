import { type Clock, formatTime, parseTime } from '@svault/shared';
import {
  type Approval,
  type ApprovalStore,
  type CountedApproval,
  type OpenApproval,
  PENDING_ACCESS_MS,
  PENDING_MS,
  SILENCED_MS,
  sameRequest,
  statusOf,
} from '../core/approval.ts';
import type { LifetimeUse } from '../core/policy.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import type { NeededApproval } from '../policies/evaluate.ts';
import { type ApprovalAsked, type NotApproved, createAsking, newApproval } from './ask-approval.ts';

/** Approved: counted with the access. */
export type ApprovalVerdict = { readonly approved: true; readonly use: LifetimeUse } | NotApproved;

/** Approvals that members decide. */
export interface Approvals {
  /**
   * Looks for an approval of this very request, and asks for one where none is pending. A denial silences the request for
   * ten minutes.
   *
   * @throws ApiError AUDIT_UNAVAILABLE where it cannot be written
   */
  ofPolicy(asked: ApprovalAsked, terms: ApprovalTerms): Promise<ApprovalVerdict>;
  /**
   * Asks for a grant.
   *
   * @returns what is open; undefined where too many are
   * @throws ApiError AUDIT_UNAVAILABLE
   */
  ofAccess(asked: Omit<ApprovalAsked, 'request'>): Promise<OpenApproval | undefined>;
}

type ApprovalTerms = Pick<NeededApproval, 'uses' | 'validSeconds'>;
type Find = (approvals: ApprovalStore) => Promise<ApprovalVerdict | undefined>;

export function createApprovals(options: {
  readonly stores: Pick<Stores, 'approvals'>;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
  /** The public address, without trailing slash. */
  readonly baseUrl: string;
}): Approvals {
  const { stores, clock } = options;
  const { ask, notApproved } = createAsking(options);

  /** @returns undefined where a new one is to be asked for */
  const verdictOf = (known: CountedApproval, terms: ApprovalTerms): ApprovalVerdict | undefined => {
    const counted = stricter(known, terms);
    const { callerType: targetType, callerId: targetId, id, uses, decidedAt = '' } = counted;
    switch (statusOf(counted, formatTime(clock.now()))) {
      case 'approved':
        return { approved: true, use: { ruleId: id, targetType, targetId, limit: uses } };
      case 'pending':
        return notApproved(known, 'pending');
      case 'denied':
        return decidedAt > formatTime(clock.now() - SILENCED_MS) ? notApproved(known, 'denied') : undefined;
      case 'expired':
      case 'used':
        return undefined;
    }
  };

  /** Of a flood of the same request one transaction asks. */
  const underWay = new Map<string, Promise<ApprovalVerdict>>();
  const askTogether = (
    approval: Approval,
    asked: Pick<ApprovalAsked, 'origin'>,
    find: Find,
  ): Promise<ApprovalVerdict> => {
    const key = `${approval.vaultId} ${approval.requestKey}`;
    const one = underWay.get(key) ?? ask(approval, asked, find).finally(() => underWay.delete(key));
    underWay.set(key, one);
    return one;
  };

  const openOne = async (
    asked: ApprovalAsked,
    terms: Parameters<typeof newApproval>[1],
    pendingMs: number,
  ): Promise<ApprovalVerdict> => {
    const { vaultId } = asked;
    const find: Find = async (approvals) => {
      const known = await approvals.newestOf(vaultId, terms.requestKey);
      const verdict = known && verdictOf(known, terms);
      // It became a grant, which is gone: the agent asks anew.
      return terms.kind === 'access' && verdict?.approved === true ? undefined : verdict;
    };
    const known = await find(stores.approvals);
    return known ?? askTogether(newApproval(asked, terms, { nowMs: clock.now(), pendingMs }), asked, find);
  };

  return {
    ofPolicy: (asked, { uses, validSeconds }) =>
      openOne(asked, { kind: 'policy', requestKey: keyOf(asked), uses, validSeconds }, PENDING_MS),
    ofAccess: async (asked) => {
      const requestKey = sameRequest(asked.caller, asked.serviceName, ['access']);
      const terms = { kind: 'access', requestKey, uses: 1, validSeconds: KEPT_MS / 1_000 } as const;
      const verdict = await openOne({ ...asked, request: undefined }, terms, PENDING_ACCESS_MS);
      return verdict.approved ? undefined : verdict.open;
    },
  };
}

/** A rule that was tightened after the request counts as it is now. */
function stricter(known: CountedApproval, terms: ApprovalTerms): CountedApproval {
  const { decision, decidedAt = '', expiresAt } = known;
  const lastMs = (parseTime(decidedAt) ?? 0) + terms.validSeconds * 1_000;
  const isShorter = decision === 'approved' && formatTime(lastMs) < expiresAt;
  return {
    ...known,
    uses: Math.min(known.uses, terms.uses),
    expiresAt: isShorter ? formatTime(lastMs) : expiresAt,
  };
}

const keyOf = ({ caller, serviceName, request }: ApprovalAsked): string =>
  sameRequest(
    caller,
    serviceName,
    request === undefined ? [] : [request.method, request.url, request.target, request.digest],
  );

/** A decided one can be looked up this long. */
const KEPT_MS = 24 * 3_600_000;
const REMOVED_AT_ONCE = 500;

/** Deletes what ended a day ago, with its counts. */
export async function removeEndedApprovals(
  { approvals }: Pick<Stores, 'approvals'>,
  clock: Clock,
): Promise<void> {
  const before = formatTime(clock.now() - KEPT_MS);
  while ((await approvals.removeBefore(before, REMOVED_AT_ONCE)) === REMOVED_AT_ONCE);
}
