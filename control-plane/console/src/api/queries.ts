import { QueryClient, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { ApiFailure, type Schemas, answerOf, api } from './client.ts';

/** Numbers that change by themselves are read again after this. */
const FRESH_MS = 30_000;
const MAX_RETRIES = 2;

/** An error that the API words will not go away by asking again; one without an answer may. */
export const createQueryClient = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: { retry: (count, error) => !(error instanceof ApiFailure) && count < MAX_RETRIES },
    },
  });

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/me', { signal })),
  staleTime: Infinity,
  // Another tab may have signed somebody else in.
  refetchOnWindowFocus: 'always',
});

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/overview', { signal })),
  refetchInterval: FRESH_MS,
});

export const setupQuery = queryOptions({
  queryKey: ['setup'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/setup', { signal })),
  refetchInterval: FRESH_MS,
});

export type AgentStatus = Schemas['Agent']['status'];

/** One page of agents. */
export interface AgentPage {
  readonly status?: AgentStatus | undefined;
  readonly cursor?: string | undefined;
}

export const agentsQuery = ({ status, cursor }: AgentPage) =>
  queryOptions({
    queryKey: ['agents', { status, cursor }],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/agents', {
          signal,
          params: { query: { ...(status && { status }), ...(cursor && { cursor }) } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const agentQuery = (id: string) =>
  queryOptions({
    queryKey: ['agents', id],
    queryFn: ({ signal }) => answerOf(api.GET('/api/agents/{id}', { signal, params: { path: { id } } })),
  });

export const grantsQuery = (id: string, cursor: string | undefined) =>
  queryOptions({
    queryKey: ['agents', id, 'grants', { cursor }],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/agents/{id}/grants', {
          signal,
          params: { path: { id }, query: { ...(cursor && { cursor }) } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
