import type { AuditStore } from '../audit/audit-store.ts';
import { verifyLog } from '../audit/verify-log.ts';
import { invalidArgument } from '../errors.ts';
import { type ManagementRoute, defineRoute } from '../http/route-definition.ts';
import { pageOf } from '../paging.ts';
import {
  auditPageSchema,
  auditQuery,
  logVerdictSchema,
  toAuditFilter,
  toAuditView,
} from './schemas/audit.ts';
import { pageRequest } from './schemas/pages.ts';

/** The account's log, newest first, and the proof that nobody changed it. */
export function createAuditRoutes({
  log,
}: {
  readonly log: Pick<AuditStore, 'list' | 'after' | 'chainOf'>;
}): readonly ManagementRoute[] {
  const shared = { tag: 'Audit', method: 'get', role: 'member', whenLocked: 'answers', audit: [] } as const;
  return [
    defineRoute({
      ...shared,
      path: '/api/audit',
      operation: 'listAuditEvents',
      summary: 'List what happened, newest first',
      query: auditQuery,
      answer: { status: 200, schema: auditPageSchema },
      handle: async ({ actor, query }) => {
        const { limit, after } = pageRequest(query, 1);
        const events = await log.list(actor.vaultId, toAuditFilter(query), {
          limit: limit + 1,
          before: after && eventNumber(after),
        });
        return pageOf(events.map(toAuditView), limit, ({ seq }) => [String(seq)]);
      },
    }),
    defineRoute({
      ...shared,
      path: '/api/audit/verify',
      operation: 'verifyAuditLog',
      summary: 'Follow the chain of hashes and say where it breaks',
      answer: { status: 200, schema: logVerdictSchema },
      handle: async ({ actor }) => verifyLog(log, actor.vaultId),
    }),
  ];
}

function eventNumber([text = '']: readonly string[]): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text))
    throw invalidArgument([{ path: 'cursor', message: 'is no cursor of this list' }]);
  return Number(text);
}
