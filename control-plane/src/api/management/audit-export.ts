import { createConcurrencyLimit } from '@svault/server-kit/concurrency-limit';
import type { Id } from '@svault/shared';
import * as z from 'zod';
import { findEvents } from '../../audit/events-query.ts';
import { type LinkedEvent, linkedEventsAfter } from '../../audit/linked-events.ts';
import type { AuditFilter } from '../../core/audit-store.ts';
import { ApiError, invalidArgument } from '../../core/errors.ts';
import { pagesOf } from '../../core/paging.ts';
import { CSV_HEAD, csvLine } from './audit-csv.ts';
import { auditFilterQuery, seqQuery, toAuditFilter } from './audit-filter.ts';
import { type ExportedEventView, exportedEventSchema, exportedViewsOf } from './audit-view.ts';
import type { Needs } from './dependencies.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

/** How an export is written: its type, what it begins with, and an event. */
const FORMATS = {
  jsonl: {
    type: 'application/jsonl',
    head: '',
    line: (view: ExportedEventView) => `${JSON.stringify(view)}\n`,
  },
  csv: { type: 'text/csv', head: CSV_HEAD, line: csvLine },
} as const;

const exportQuery = z.strictObject({
  ...auditFilterQuery,
  order: z.enum(['asc', 'desc']).optional().meta({
    description: 'desc unless given: newest first. asc: oldest first and every event, without a filter',
  }),
  after: seqQuery('With `order=asc`: begins with the event behind this number'),
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

  const newestFirst = (vaultId: Id<'vlt'>, filter: AuditFilter): AsyncIterable<readonly LinkedEvent[]> =>
    pagesOf(({ limit, after }) => {
      const before = after === undefined ? undefined : Number(after[0]);
      return findEvents(log, vaultId, filter, { limit, before });
    }, PAGE);

  /** Up to the event that is the newest now, however fast others follow. */
  async function* oldestFirst(vaultId: Id<'vlt'>, after: number): AsyncIterable<readonly LinkedEvent[]> {
    const { head } = await log.chainOf(vaultId);
    yield [];
    for (let seq: number | undefined = after; seq !== undefined && seq < head.seq;) {
      const limit = Math.min(PAGE.limit, head.seq - seq);
      const events: readonly LinkedEvent[] = await linkedEventsAfter(log, vaultId, seq, limit);
      yield events;
      seq = events.at(-1)?.seq;
    }
  }

  async function* textOf(
    vaultId: Id<'vlt'>,
    pages: AsyncIterable<readonly LinkedEvent[]>,
    { head, line }: (typeof FORMATS)[keyof typeof FORMATS],
    release: () => void,
  ): AsyncGenerator<string> {
    try {
      let before = head;
      for await (const events of pages) {
        const views = await exportedViewsOf(names, vaultId, events);
        yield before + views.map(line).join('');
        before = '';
      }
    } finally {
      release();
    }
  }

  return defineRoute('GET /api/audit/export', {
    tag: 'Audit',
    operation: 'exportAuditLog',
    summary: 'Take out the log as JSON lines or CSV: what a filter matches, or all of it, oldest first',
    role: 'member',
    query: exportQuery,
    response: {
      status: 200,
      streams: exportedEventSchema,
      types: Object.values(FORMATS).map(({ type }) => type),
    },
    errors: ['RATE_LIMITED'],
    handle: async ({ actor: { vaultId }, query, exchange }) => {
      const { format = 'jsonl', order = 'desc', after, ...filter } = query;
      if (order === 'asc' ? Object.keys(filter).length > 0 : after !== undefined)
        throw invalidArgument([
          { path: 'order', message: 'asc takes after and no filter; desc takes filters and no after' },
        ]);
      const release = running.take(vaultId);
      if (release === undefined)
        throw new ApiError('RATE_LIMITED', 'Two exports of the log are running. Wait for one to end.', {
          details: { retryAfter: RETRY_AFTER_SECONDS },
          reason: 'audit_exports',
        });
      exchange.setHeader('Content-Type', `${FORMATS[format].type}; charset=utf-8`);
      exchange.setHeader('Content-Disposition', `attachment; filename="svault-audit.${format}"`);
      const pages =
        order === 'asc'
          ? oldestFirst(vaultId, Number(after ?? 0))
          : newestFirst(vaultId, toAuditFilter(filter));
      return textOf(vaultId, pages, FORMATS[format], release);
    },
  });
}
