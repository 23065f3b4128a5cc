import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';
import { type LogFilter, filterQuery } from '../events/log-filter.ts';

const PAGE = 50;
/** Each looks through 100,000 events at most. */
const MAX_LOOKS = 5;

/** One page of the log, newest first. Where few of very many events match, it is looked for further back. */
export const auditQuery = (filter: LogFilter, cursor: string | undefined) =>
  queryOptions({
    queryKey: ['audit', filter, { cursor }],
    queryFn: async ({ signal }) => {
      let from = cursor;
      for (let looks = 1; ; looks++) {
        const query = { ...filterQuery(filter), limit: PAGE, ...(from && { cursor: from }) };
        const page = await answerOf(api.GET('/api/audit', { signal, params: { query } }));
        if (page.items.length > 0 || page.nextCursor === undefined || looks === MAX_LOOKS) return page;
        from = page.nextCursor;
      }
    },
    placeholderData: keepPreviousData,
  });

/** One event, with what became of its ticket. */
export const eventQuery = (seq: string) =>
  queryOptions({
    queryKey: ['audit', seq],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/audit/{seq}', {
          signal,
          params: { path: { seq: Number(seq) }, query: { delivery: 'true' } },
        }),
      ),
  });

/** The other events of a request, which are written about the same time. */
export const sameRequestQuery = (requestId: string, timestamp: string) => {
  const at = Date.parse(timestamp);
  const around = (ms: number): string => new Date(at + ms).toISOString();
  return auditQuery({ request: requestId, from: around(-AROUND_MS), to: around(AROUND_MS) }, undefined);
};

const AROUND_MS = 10 * 60_000;

/** Agents whose name has a text in it. */
export const namedAgentsQuery = (name: string) =>
  queryOptions({
    queryKey: ['audit', 'agents', name],
    queryFn: ({ signal }) =>
      answerOf(api.GET('/api/agents', { signal, params: { query: { name, limit: 10 } } })),
    placeholderData: keepPreviousData,
  });

/** Follows the chain of the log from its start to its end. */
export const verifyLog = () => answerOf(api.GET('/api/audit/verify'));
