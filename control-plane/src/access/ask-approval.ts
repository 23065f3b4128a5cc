import { type Id, formatTime, newTimeOrderedId } from '@svault/shared';
import { auditUnavailable } from '../audit/audit-writer.ts';
import {
  type Approval,
  type ApprovalCaller,
  type ApprovalRequest,
  type ApprovalStore,
  MAX_PENDING,
  MAX_TOOL_CHARACTERS,
  type OpenApproval,
  eventSubjectOf,
} from '../core/approval.ts';
import type { UnitOfWork } from '../core/stores.ts';
import type { RequestOrigin } from './decision.ts';

/** What an agent or a proxy asks for, to be approved. */
export interface ApprovalAsked {
  readonly vaultId: Id<'vlt'>;
  readonly caller: ApprovalCaller;
  readonly serviceName: string;
  /** What a proxy would send; undefined for the credential itself. */
  readonly request: (ApprovalRequest & { readonly target: string }) | undefined;
  readonly reason: string | undefined;
  readonly origin: RequestOrigin;
}

/** What is open instead; undefined where too many are. */
export interface NotApproved {
  readonly approved: false;
  readonly open: OpenApproval | undefined;
}

/** @param pendingMs how long it can be decided */
export function newApproval(
  { vaultId, caller, serviceName, request, reason }: ApprovalAsked,
  terms: Pick<Approval, 'kind' | 'requestKey' | 'uses' | 'validSeconds'>,
  { nowMs, pendingMs }: { readonly nowMs: number; readonly pendingMs: number },
): Approval {
  return {
    ...{ id: newTimeOrderedId('apr', nowMs), vaultId, reason, ...terms },
    ...{ callerType: caller.type, callerId: caller.id, serviceName },
    request: request && JSON.stringify(shownPart(request)),
    askedAt: formatTime(nowMs),
    expiresAt: formatTime(nowMs + pendingMs),
    ...{ decision: undefined, decidedAt: undefined, decidedBy: undefined },
    ...{ webhookApprovalId: undefined, url: undefined },
  };
}

/** Without the query. The name of a tool is the agent's own words, of any length. */
const shownPart = ({ method, url, tool, digest }: ApprovalRequest): ApprovalRequest => ({
  ...{ method, url, digest },
  ...(tool !== undefined && { tool: cut(tool) }),
});

const cut = (tool: string): string =>
  tool.length <= MAX_TOOL_CHARACTERS ? tool : `${tool.slice(0, MAX_TOOL_CHARACTERS)}…`;

/** @param options.baseUrl the public address, without trailing slash */
export function createAsking({
  unitOfWork,
  baseUrl,
}: {
  readonly unitOfWork: UnitOfWork;
  readonly baseUrl: string;
}) {
  const notApproved = (
    { id, vaultId, url, expiresAt, webhookApprovalId }: Approval,
    status: OpenApproval['status'],
  ): NotApproved => ({
    approved: false,
    open: { id, vaultId, webhookApprovalId, status, url: url ?? `${baseUrl}/approvals/${id}`, expiresAt },
  });

  /**
   * Puts a request before people, unless `find` finds what answers it: of requests at the same time the first asks.
   *
   * @throws ApiError AUDIT_UNAVAILABLE
   */
  const ask = <Found>(
    approval: Approval,
    { origin }: Pick<ApprovalAsked, 'origin'>,
    find: (approvals: ApprovalStore) => Promise<Found | undefined>,
  ): Promise<Found | NotApproved> =>
    recorded(
      unitOfWork.run(approval.vaultId, async ({ approvals, audit, notifications }) => {
        const found = await find(approvals);
        if (found !== undefined) return found;
        const { id: approvalId, vaultId, kind, askedAt } = approval;
        const pending = await approvals.pendingOf(approval, askedAt);
        if (pending.ofCaller >= MAX_PENDING.ofCaller || pending.ofService >= MAX_PENDING.ofService)
          return { approved: false, open: undefined } as const;
        await approvals.add(approval);
        await audit.append({
          ...{ vaultId, eventType: 'APPROVAL_REQUESTED', outcome: 'success', origin },
          ...eventSubjectOf(approval),
          detail: { approvalId, kind, ...loggedPart(approval) },
        });
        await notifications.enqueue(approval);
        return notApproved(approval, 'pending');
      }),
    );

  return { ask, notApproved };
}

/** Never a path, which could hold what no log should. */
function loggedPart({ request }: Approval) {
  if (request === undefined) return {};
  const { method, digest, tool } = JSON.parse(request) as ApprovalRequest;
  return { method, digest, ...(tool !== undefined && { tool }) };
}

export const recorded = <T>(writing: Promise<T>): Promise<T> =>
  writing.catch((cause: unknown) => {
    throw auditUnavailable(cause);
  });
