import { createConcurrencyLimit } from '@svault/server-kit/concurrency-limit';
import type { Id } from '@svault/shared';
import * as z from 'zod';
import { findEvents } from '../../audit/events-query.ts';
import type { AuditFilter } from '../../core/audit-store.ts';
import { ApiError } from '../../core/errors.ts';
import { pagesOf } from '../../core/paging.ts';
import { CSV_HEAD, csvLine } from './audit-csv.ts';
import { auditFilterQuery, toAuditFilter } from './audit-filter.ts';
import { type AuditEventView, auditEventSchema, viewsOf } from './audit-view.ts';
import type { Needs } from './dependencies.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

/** How an export is written: its type, what it begins with, and an event. */
const FORMATS = {
  jsonl: { type: 'application/jsonl', head: '', line: (view: AuditEventView) => `${JSON.stringify(view)}\n` },
  csv: { type: 'text/csv', head: CSV_HEAD, line: csvLine },
} as const;

const exportQuery = z.strictObject({
  ...auditFilterQuery,
  format: z.enum(['jsonl', 'csv']).optional().meta({
    description:
      'jsonl unless given: one event a line. csv: a text that a spreadsheet would calculate has an apostrophe before it',
  }),
});

/** Each reads as fast as its client takes it. */
const MAX_PER_ACCOUNT = 2;
const RETRY_AFTER_SECONDS = 30;
/** Events of a part. */
const PAGE = { limit: 100, parts: 1 };

/** The account's log as a file. */
export function createAuditExportRoute({
  stores: { names, audit: log },
}: Needs<never, 'audit' | 'names'>): ManagementRoute {
  const running = createConcurrencyLimit(MAX_PER_ACCOUNT);

  const pages = (vaultId: Id<'vlt'>, filter: AuditFilter) =>
    pagesOf(({ limit, after }) => {
      const before = after === undefined ? undefined : Number(after[0]);
      return findEvents(log, vaultId, filter, { limit, before });
    }, PAGE);

  async function* textOf(
    vaultId: Id<'vlt'>,
    filter: AuditFilter,
    { head, line }: (typeof FORMATS)[keyof typeof FORMATS],
    release: () => void,
  ): AsyncGenerator<string> {
    try {
      let before = head;
      for await (const events of pages(vaultId, filter)) {
        const views = await viewsOf(names, vaultId, events);
        yield before + views.map((view) => line(auditEventSchema.parse(view))).join('');
        before = '';
      }
    } finally {
      release();
    }
  }

  return defineRoute('GET /api/audit/export', {
    tag: 'Audit',
    operation: 'exportAuditLog',
    summary: 'Take out the events that a filter matches, newest first, as JSON lines or CSV',
    role: 'member',
    query: exportQuery,
    response: {
      status: 200,
      streams: auditEventSchema,
      types: Object.values(FORMATS).map(({ type }) => type),
    },
    errors: ['RATE_LIMITED'],
    handle: async ({ actor: { vaultId }, query: { format = 'jsonl', ...query }, exchange }) => {
      const release = running.take(vaultId);
      if (release === undefined)
        throw new ApiError('RATE_LIMITED', 'Two exports of the log are running. Wait for one to end.', {
          details: { retryAfter: RETRY_AFTER_SECONDS },
          reason: 'audit_exports',
        });
      exchange.setHeader('Content-Type', `${FORMATS[format].type}; charset=utf-8`);
      exchange.setHeader('Content-Disposition', `attachment; filename="svault-audit.${format}"`);
      return textOf(vaultId, toAuditFilter(query), FORMATS[format], release);
    },
  });
}
