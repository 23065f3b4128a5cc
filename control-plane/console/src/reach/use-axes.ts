import { type UseInfiniteQueryResult, useInfiniteQuery } from '@tanstack/react-query';
import { type Caller, callersQuery, credentialsQuery, proxiesQuery } from './queries.ts';

/** Agents and then proxies, or credentials, as far as they are loaded. */
export interface Axis<Item> {
  readonly items: readonly Item[];
  /** Everything is loaded. */
  readonly isWhole: boolean;
  readonly isLoading: boolean;
  readonly error: Error | null;
  /** Loads the next page, unless one is on its way. */
  readonly loadMore: () => void;
  readonly retry: () => void;
}

/** The agents, and behind the last of them the proxies. */
export function useCallers(): Axis<Caller> {
  const agents = axisOf(useInfiniteQuery(callersQuery));
  const proxies = axisOf(useInfiniteQuery({ ...proxiesQuery, enabled: agents.isWhole }));
  return {
    items: agents.isWhole ? [...agents.items, ...proxies.items] : agents.items,
    isWhole: agents.isWhole && proxies.isWhole,
    isLoading: agents.isLoading || (agents.isWhole && proxies.isLoading),
    error: agents.error ?? proxies.error,
    loadMore: agents.isWhole ? proxies.loadMore : agents.loadMore,
    retry: agents.error === null ? proxies.retry : agents.retry,
  };
}

/** The credentials by service name. */
export const useCredentials = (): Axis<string> => axisOf(useInfiniteQuery(credentialsQuery));

function axisOf<Item>(query: UseInfiniteQueryResult<Item[]>): Axis<Item> {
  const { data, hasNextPage, isFetchingNextPage, isPending, error, fetchNextPage, refetch } = query;
  return {
    items: data ?? [],
    isWhole: data !== undefined && !hasNextPage,
    isLoading: isPending || isFetchingNextPage,
    error,
    loadMore: () => {
      if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
    },
    retry: () => void refetch(),
  };
}
