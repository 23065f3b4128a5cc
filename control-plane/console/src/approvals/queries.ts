import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { type Schemas, answerOf, api } from '../api/client.ts';

export type Approval = Schemas['Approval'];

/** Events tell of new ones; those that end by themselves are noticed by this. */
const FRESH_MS = 30_000;
/** As many as the API sends at once, and as a person can decide about. */
const MAX_PENDING = 100;

/** What waits for a decision. */
export const pendingQuery = queryOptions({
  queryKey: ['approvals', 'pending'],
  queryFn: ({ signal }) =>
    answerOf(
      api.GET('/api/approvals', { signal, params: { query: { status: 'pending', limit: MAX_PENDING } } }),
    ),
  refetchInterval: FRESH_MS,
});

export const approvalsQuery = (page: { readonly cursor?: string }) =>
  queryOptions({
    queryKey: ['approvals', 'all', page],
    queryFn: ({ signal }) => answerOf(api.GET('/api/approvals', { signal, params: { query: page } })),
    placeholderData: keepPreviousData,
  });

export const approvalQuery = (id: string) =>
  queryOptions({
    queryKey: ['approvals', id],
    queryFn: ({ signal }) => answerOf(api.GET('/api/approvals/{id}', { signal, params: { path: { id } } })),
    refetchInterval: FRESH_MS,
  });
