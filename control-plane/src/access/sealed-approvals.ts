import { type Clock, type Id, formatTime } from '@svault/shared';
import type { ApprovalAnswer, ApprovalState, RequestedOperation } from '@svault/shared/schemas';
import {
  type Approval,
  type CountedApproval,
  type OpenApproval,
  eventSubjectOf,
  sameRequest,
} from '../core/approval.ts';
import type { Stores, UnitOfWork } from '../core/stores.ts';
import { type ApprovalAsked, type NotApproved, createAsking, newApproval, recorded } from './ask-approval.ts';

/** Approvals that a credential's record at the webhook asks for, which decides on them by itself. */
export interface SealedApprovals {
  /**
   * Asks the webhook for an approval of one use.
   *
   * @param isKnown whether the record is known to ask for one; otherwise only a webhook that has approvals is asked
   * @throws ApiError AUDIT_UNAVAILABLE
   */
  ask(asked: ApprovalAsked, operation: RequestedOperation, isKnown: boolean): Promise<SealedVerdict>;
}

export type SealedVerdict =
  | { readonly kind: 'approved' }
  | { readonly kind: 'not_required' }
  /** The webhook would refuse the use itself, and says why. */
  | { readonly kind: 'refused' }
  /** Undefined where too many are open. */
  | { readonly kind: 'open'; readonly open: OpenApproval | undefined }
  | { readonly kind: 'unavailable'; readonly retryAfterSeconds: number };

type AskedAtWebhook = Extract<ApprovalAnswer, { readonly id: string }>;

/** What is kept here of approvals that are decided at a webhook. */
export interface SealedApprovalCopies {
  /**
   * Keeps what a webhook answered to a question for an approval.
   *
   * @returns the answer as a caller is told of it; undefined where too many are open here
   * @throws ApiError AUDIT_UNAVAILABLE
   */
  keep(asked: ApprovalAsked, answer: AskedAtWebhook): Promise<OpenApproval | undefined>;
  /** Writes down what became of them. @param states by the webhook's ids @throws ApiError AUDIT_UNAVAILABLE */
  learn(vaultId: Id<'vlt'>, states: readonly ApprovalState[]): Promise<void>;
}

export function createSealedApprovalCopies(options: {
  readonly stores: Pick<Stores, 'approvals'>;
  readonly unitOfWork: UnitOfWork;
  readonly clock: Clock;
  /** The public address, without trailing slash. */
  readonly baseUrl: string;
}): SealedApprovalCopies {
  const { stores, unitOfWork, clock } = options;
  const { ask, notApproved } = createAsking(options);

  /** Writes down a state that is new here. */
  const reflect = async (
    { approvals, audit }: Pick<Stores, 'approvals' | 'audit'>,
    known: CountedApproval,
    { status, expiresAt }: ApprovalState,
  ): Promise<void> => {
    const decision = decisionOf(status);
    if (decision === undefined || !isNews(known, { status, expiresAt })) return;
    const decidedAt = formatTime(clock.now());
    await approvals.decide({ ...known, decision, decidedAt, decidedBy: undefined, expiresAt });
    if (known.decision === decision) return;
    const { vaultId, id: approvalId, kind } = known;
    await audit.append({
      ...{ vaultId, outcome: 'success', ...eventSubjectOf(known) },
      eventType: decision === 'approved' ? 'APPROVAL_APPROVED' : 'APPROVAL_DENIED',
      detail: { approvalId, kind },
    });
  };

  const learn = async (vaultId: Id<'vlt'>, states: readonly ApprovalState[]): Promise<void> => {
    const decided = new Map(
      states.filter(({ status }) => decisionOf(status) !== undefined).map((state) => [state.id, state]),
    );
    if (decided.size === 0) return;
    await recorded(
      unitOfWork.run(vaultId, async (inside) => {
        for (const known of await inside.approvals.ofWebhook(vaultId, [...decided.keys()])) {
          const state = decided.get(known.webhookApprovalId ?? '');
          if (state !== undefined) await reflect(inside, known, state);
        }
      }),
    );
  };

  return {
    keep: async (asked, answer) => {
      const { vaultId, caller, serviceName } = asked;
      const { id: webhookApprovalId, url, expiresAt } = answer;
      const status = answer.status === 'denied' ? 'denied' : 'pending';
      const requestKey = sameRequest(caller, serviceName, ['passkey', webhookApprovalId]);
      const viewOf = (approval: Approval): NotApproved =>
        notApproved({ ...approval, url, expiresAt }, status);
      const known = await stores.approvals.newestOf(vaultId, requestKey);
      const addNew = (): Promise<NotApproved> => {
        const terms = { kind: 'passkey', requestKey, uses: 1, validSeconds: 0 } as const;
        const made = newApproval(asked, terms, { nowMs: clock.now(), pendingMs: 0 });
        return ask({ ...made, webhookApprovalId, url, expiresAt }, asked, async (from) => {
          const other = await from.newestOf(vaultId, requestKey);
          return other && viewOf(other);
        });
      };
      const { open } = known === undefined ? await addNew() : viewOf(known);
      if (open === undefined) return undefined;
      if (isNews(known, answer)) await learn(vaultId, [answer]);
      return { ...open, status };
    },
    learn,
  };
}

/** Nobody decided on what is pending or has expired; what was used was approved. */
const decisionOf = (status: ApprovalState['status']): Approval['decision'] => {
  if (status === 'denied') return 'denied';
  return status === 'approved' || status === 'used' ? 'approved' : undefined;
};

const isNews = (
  known: Approval | undefined,
  { status, expiresAt }: Pick<ApprovalState, 'status' | 'expiresAt'>,
): boolean => {
  const decision = decisionOf(status);
  return decision !== undefined && (known?.decision !== decision || known.expiresAt !== expiresAt);
};
