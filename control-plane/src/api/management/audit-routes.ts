import type { AuditStore } from '../../core/audit-store.ts';
import { findEvents } from '../../audit/events-query.ts';
import { createLogVerification } from '../../audit/verify.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import {
  auditPageSchema,
  auditQuery,
  logPageRequest,
  logVerdictSchema,
  toAuditFilter,
  toAuditView,
} from './schemas/audit.ts';

/** The account's log, newest first, and the proof that nobody changed it. */
export function createAuditRoutes({
  log,
}: {
  readonly log: Pick<AuditStore, 'look' | 'after' | 'chainOf'>;
}): readonly ManagementRoute[] {
  const verify = createLogVerification(log);
  const shared = { tag: 'Audit', method: 'get', role: 'member', whenLocked: 'answers', audit: [] } as const;
  return [
    defineRoute({
      ...shared,
      path: '/api/audit',
      operation: 'listAuditEvents',
      summary:
        'List what happened, newest first; a page may hold less than asked for and still have a cursor',
      query: auditQuery,
      answer: { status: 200, schema: auditPageSchema },
      handle: async ({ actor, query }) => {
        const page = await findEvents(log, actor.vaultId, toAuditFilter(query), logPageRequest(query));
        return { ...page, items: page.items.map(toAuditView) };
      },
    }),
    defineRoute({
      ...shared,
      path: '/api/audit/verify',
      operation: 'verifyAuditLog',
      summary: 'Follow the chain of hashes and say where it breaks',
      answer: { status: 200, schema: logVerdictSchema },
      handle: ({ actor }) => verify(actor.vaultId),
    }),
  ];
}
