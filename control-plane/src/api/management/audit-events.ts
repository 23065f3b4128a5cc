import * as z from 'zod';
import { linkedEventsAfter } from '../../audit/linked-events.ts';
import { createLiveFeed } from '../../audit/live-feed.ts';
import { mayEndSignIns } from '../../core/audit-event.ts';
import { ApiError, invalidArgument } from '../../core/errors.ts';
import { SEQ, seqQuery } from './audit-filter.ts';
import { exportedEventSchema, exportedViewsOf } from './audit-view.ts';
import type { Needs } from './dependencies.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import type { EventFeed, ServerSentEvent } from './send-events.ts';

const eventsQuery = z.strictObject({
  after: seqQuery(
    'Begins with the event behind this number; a `Last-Event-ID` goes before it. Without either: with the next event',
  ),
});

/** Seconds after which a client may try again when too many streams are open. */
const RETRY_AFTER_SECONDS = 30;

/** The account's log as it is written. */
export function createAuditEventRoutes({
  logger,
  metrics,
  stores: { audit: log, names },
}: Needs<'logger' | 'metrics', 'audit' | 'names'>): ManagementRoute[] {
  const feed = createLiveFeed<ServerSentEvent>({
    read: async (vaultId, seq, limit) => {
      const views = await exportedViewsOf(names, vaultId, await linkedEventsAfter(log, vaultId, seq, limit));
      return views.map((view) => ({
        seq: view.seq,
        text: `id: ${view.seq}\nevent: audit\ndata: ${JSON.stringify(view)}\n\n`,
        mayEndSignIns: mayEndSignIns(view.eventType),
      }));
    },
    onError: (error) => logger.error({ err: error }, 'events could not be read; their streams are ended'),
  });
  metrics.eventStreams(() => [[{}, feed.count()]]);
  return [
    defineRoute('GET /api/events', {
      tag: 'Audit',
      operation: 'streamAuditEvents',
      summary:
        'Follow what happens, oldest first, as server-sent events named `audit`; ends with the sign-in',
      role: 'member',
      query: eventsQuery,
      response: { status: 200, events: exportedEventSchema },
      errors: ['RATE_LIMITED'],
      handle: async ({ actor: { vaultId }, query, exchange }): Promise<EventFeed> => {
        const after = lastEventId(exchange.header('last-event-id')) ?? query.after;
        const { head } = await log.chainOf(vaultId);
        // A number that is not reached yet is from before a restore: waiting for it would hide events.
        const seq = after === undefined ? head.seq : Math.min(Number(after), head.seq);
        return (reader) => {
          const close = feed.open(vaultId, seq, reader);
          if (close !== undefined) return close;
          throw new ApiError('RATE_LIMITED', 'Too many event streams are open. Close one, or try later.', {
            details: { retryAfter: RETRY_AFTER_SECONDS },
            reason: 'event_streams',
          });
        };
      },
    }),
  ];
}

/** A browser without one sends none, or an empty one. @throws ApiError INVALID_ARGUMENT */
function lastEventId(id: string | undefined): string | undefined {
  if (id === undefined || id === '') return undefined;
  if (!SEQ.test(id)) throw invalidArgument([{ path: 'Last-Event-ID', message: 'is no id of an event' }]);
  return id;
}
