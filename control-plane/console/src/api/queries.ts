import { QueryCache, QueryClient, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { ApiFailure, Problem, type Schemas, answerOf, api } from './client.ts';
import { notify } from '../parts/notice.tsx';

/** Numbers that change by themselves are read again after this. */
const FRESH_MS = 30_000;
const MAX_RETRIES = 2;
/** As many as have room beside the chart. */
const MAX_ACTIVE = 7;

/** What Home shows at first, and asked for before it is drawn, is not asked for again when it is. */
const FIRST_VIEW_MS = 2_000;

/** An error that the API words will not go away by asking again; one without an answer may. */
export const createQueryClient = (): QueryClient =>
  new QueryClient({
    queryCache: new QueryCache({
      // What was there before stays on the screen, and with it what is typed there.
      onError: (error, { state }) => {
        if (state.data !== undefined && error instanceof Problem) notify(error.message);
      },
    }),
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
  staleTime: FIRST_VIEW_MS,
  refetchInterval: FRESH_MS,
});

export const seriesQuery = queryOptions({
  queryKey: ['overview', 'series'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/overview/series', { signal })),
  staleTime: FIRST_VIEW_MS,
  refetchInterval: FRESH_MS,
});

export const activeAgentsQuery = queryOptions({
  queryKey: ['overview', 'agents'],
  queryFn: ({ signal }) =>
    answerOf(api.GET('/api/overview/agents', { signal, params: { query: { limit: MAX_ACTIVE } } })),
  staleTime: FIRST_VIEW_MS,
  refetchInterval: FRESH_MS,
});

export const attentionQuery = queryOptions({
  queryKey: ['attention'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/attention', { signal })),
  staleTime: FIRST_VIEW_MS,
  refetchInterval: FRESH_MS,
});

export const setupQuery = queryOptions({
  queryKey: ['setup'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/setup', { signal })),
  staleTime: FIRST_VIEW_MS,
  refetchInterval: FRESH_MS,
});

/** Asks for what a first view needs while the page is not drawn yet. @param path of the screen */
export function askForFirstView(queryClient: QueryClient, path: string): void {
  const asked: Promise<unknown>[] = [queryClient.query(meQuery)];
  if (path === '/')
    asked.push(
      queryClient.query(overviewQuery),
      queryClient.query(attentionQuery),
      queryClient.query(setupQuery),
      queryClient.query(seriesQuery),
      queryClient.query(activeAgentsQuery),
    );
  // What shows them says what failed.
  void Promise.allSettled(asked);
}

export type AgentStatus = Schemas['Agent']['status'];

/** One page of agents. */
export interface AgentPage {
  /** A part of the name. */
  readonly name?: string | undefined;
  readonly status?: AgentStatus | undefined;
  readonly cursor?: string | undefined;
}

export const agentsQuery = ({ name, status, cursor }: AgentPage) =>
  queryOptions({
    queryKey: ['agents', { name, status, cursor }],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/agents', {
          signal,
          params: { query: { ...(name && { name }), ...(status && { status }), ...(cursor && { cursor }) } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** The oldest agent that is active, for the first steps. */
export const firstAgentQuery = queryOptions({
  queryKey: ['agents', 'first'],
  queryFn: ({ signal }) =>
    answerOf(api.GET('/api/agents', { signal, params: { query: { limit: 1, status: 'active' } } })),
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

/** Names of credentials for a form. @param typed a part of the names */
export const credentialNamesQuery = (typed: string) =>
  queryOptions({
    queryKey: ['tokens', 'names', typed],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/tokens', { signal, params: { query: { limit: 20, ...(typed && { name: typed }) } } }),
      ),
    placeholderData: keepPreviousData,
  });

export const foldersQuery = queryOptions({
  queryKey: ['folders'],
  queryFn: ({ signal }) => answerOf(api.GET('/api/folders', { signal, params: { query: { limit: 100 } } })),
});

/** Policies for a form. @param typed a part of the names */
export const policyNamesQuery = (typed: string) =>
  queryOptions({
    queryKey: ['policies', 'names', typed],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/policies', { signal, params: { query: { limit: 50, ...(typed && { name: typed }) } } }),
      ),
    placeholderData: keepPreviousData,
  });

/** Sessions of MCP clients that act as an agent. */
export const agentSessionsQuery = (agentId: string, cursor: string | undefined) =>
  queryOptions({
    queryKey: ['sessions', { agentId, cursor }],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/sessions', { signal, params: { query: { agentId, ...(cursor && { cursor }) } } }),
      ),
    placeholderData: keepPreviousData,
  });

/** Requests for credentials of one agent. */
export const agentSeriesQuery = (agentId: string) =>
  queryOptions({
    queryKey: ['overview', 'series', agentId],
    queryFn: ({ signal }) =>
      answerOf(api.GET('/api/overview/series', { signal, params: { query: { agentId } } })),
    refetchInterval: FRESH_MS,
  });
