import { formatTime } from '@svault/shared';
import * as z from 'zod';
import {
  APPROVAL_KINDS,
  APPROVAL_STATUSES,
  type ApprovalRequest,
  type CountedApproval,
  statusOf,
} from '../../core/approval.ts';
import { ownOf } from '../../core/change.ts';
import type { Stores } from '../../core/stores.ts';
import { approveRequest, decideApproval } from '../../management/approvals.ts';
import type { Needs } from './dependencies.ts';
import { termsMembers } from './grants.ts';
import { idParams, pageQuery, pageRequest, pageSchema, timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

export const approvalSchema = z
  .object({
    id: z.string().meta({ examples: ['apr_…'] }),
    kind: z.enum(APPROVAL_KINDS).meta({
      description:
        'policy: a policy holds the request back; passkey: its credential does; access: for a grant',
    }),
    status: z.enum(APPROVAL_STATUSES),
    agentId: z.string().optional(),
    proxyId: z.string().optional(),
    callerName: z.string().optional().meta({ description: 'The name of the agent or proxy now' }),
    serviceName: z.string(),
    request: z
      .object({
        method: z.string(),
        url: z.string().meta({ description: 'Without its query' }),
        tool: z.string().optional(),
        digest: z.string().meta({ description: 'SHA-256 of the body, base64' }),
      })
      .optional()
      .meta({ description: 'What a proxy would send; absent: the credential itself' }),
    reason: z.string().optional().meta({ description: 'As the agent wrote it: untrusted' }),
    askedAt: timeSchema,
    expiresAt: timeSchema.meta({ description: 'Until when it can be decided, or be used' }),
    decidedAt: timeSchema.optional(),
    decidedBy: z.string().optional(),
    uses: z.int().meta({ description: 'How often it may be used once approved' }),
    used: z.int(),
    url: z.string().optional().meta({ description: 'Of one that is decided at the webhook: where' }),
  })
  .meta({ id: 'Approval' });

const approvalQuery = z.strictObject({
  ...pageQuery,
  status: z.enum(['pending']).optional().meta({ description: 'Only those that wait for a decision' }),
});

export const toApprovalView = (
  approval: CountedApproval,
  now: string,
  callerName?: string,
): z.output<typeof approvalSchema> => {
  const { id, kind, callerType, callerId, serviceName, request, reason, url } = approval;
  const { askedAt, expiresAt, decidedAt, decidedBy, uses, used } = approval;
  return {
    ...{ id, kind, status: statusOf(approval, now) },
    ...(callerType === 'agent' ? { agentId: callerId } : { proxyId: callerId }),
    ...{ callerName, serviceName },
    request: request === undefined ? undefined : (JSON.parse(request) as ApprovalRequest),
    ...{ reason, askedAt, expiresAt, decidedAt, decidedBy, uses, used, url },
  };
};

/** What waits for people to decide, and what they decided. */
export function createApprovalRoutes({
  clock,
  stores,
  waiters,
}: Needs<'clock' | 'waiters', 'approvals' | 'names'>): ManagementRoute[] {
  const shared = { tag: 'Approvals', role: 'member' } as const;
  const byId = { ...shared, params: idParams('apr') } as const;
  const approval = { status: 200, schema: approvalSchema } as const;
  const viewOf = async (each: CountedApproval, read: Pick<Stores, 'names'> = stores) => {
    const names = await read.names.of(each.vaultId, [each.callerId]);
    return toApprovalView(each, formatTime(clock.now()), names.get(each.callerId));
  };
  /** Wakes the requests that wait for it, once the decision is there to be read. */
  const decided = async <T>(id: string, decide: () => Promise<T>): Promise<T> => {
    const view = await decide();
    waiters.wake(id);
    return view;
  };
  return [
    defineRoute('GET /api/approvals', {
      ...shared,
      operation: 'listApprovals',
      summary: 'What waits for a decision, and what was decided not long ago; oldest first',
      query: approvalQuery,
      response: { status: 200, schema: pageSchema(approvalSchema) },
      handle: async ({ actor: { vaultId }, query }) => {
        const now = formatTime(clock.now());
        const { items, ...rest } = await stores.approvals.list(
          vaultId,
          query.status && now,
          pageRequest(query),
        );
        const names = await stores.names.of(vaultId, [...new Set(items.map(({ callerId }) => callerId))]);
        return { ...rest, items: items.map((each) => toApprovalView(each, now, names.get(each.callerId))) };
      },
    }),
    defineRoute('GET /api/approvals/{id}', {
      ...byId,
      operation: 'getApproval',
      summary: 'Read an approval',
      response: approval,
      handle: async ({ actor, params }) => viewOf(await ownOf(stores.approvals, actor, params.id)),
    }),
    defineRoute('POST /api/approvals/{id}/approve', {
      ...byId,
      operation: 'approve',
      summary:
        'Approve a request, which then passes as often as its policy says, or becomes a grant of these terms',
      body: z.strictObject(termsMembers).meta({
        id: 'ApprovalTerms',
        description: 'Of a request for a grant: as of a new grant. Nothing of another.',
      }),
      response: approval,
      errors: ['CONFLICT'],
      handle: ({ transaction, params: { id }, body }) =>
        decided(id, () =>
          transaction(async (inside) => viewOf(await approveRequest(inside, id, body, clock), inside)),
        ),
    }),
    defineRoute('POST /api/approvals/{id}/deny', {
      ...byId,
      operation: 'deny',
      summary: 'Deny a request, the same one for ten minutes, or take back what is left of an approval',
      whenLocked: 'allowed',
      response: approval,
      errors: ['CONFLICT'],
      handle: ({ transaction, params: { id } }) =>
        decided(id, () =>
          transaction(async (inside) => viewOf(await decideApproval(inside, id, 'denied', clock), inside)),
        ),
    }),
  ];
}
