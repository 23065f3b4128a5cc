import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { type Schemas, answerOf, api } from '../api/client.ts';

export type Reach = Schemas['Reach'];

/** What the address of the screen says. */
export interface ReachSearch {
  readonly agent?: string | undefined;
  readonly proxy?: string | undefined;
  readonly credential?: string | undefined;
  readonly cursor?: string | undefined;
  /** The cell that is open (`cellOf`). */
  readonly cell?: string | undefined;
}

/** An agent or a proxy with the credential that is asked about. */
export interface Cell {
  readonly callerId: string;
  readonly serviceName: string;
}

/** A cell in the address. An id has no dot. */
export const cellText = ({ callerId, serviceName }: Cell): string => `${callerId}.${serviceName}`;

export function cellOf(text: string | undefined): Cell | undefined {
  const [, callerId, serviceName] = /^((?:agt|prx)_[\w-]+)\.(.+)$/su.exec(text ?? '') ?? [];
  return callerId === undefined || serviceName === undefined ? undefined : { callerId, serviceName };
}

/** A row of the matrix. */
export interface Caller {
  readonly id: string;
  readonly name: string;
  readonly type: 'agent' | 'proxy';
}

export const isProxyId = (id: string): boolean => id.startsWith('prx_');

/** States change without a word: grants expire, the webhook goes away. */
const FRESH_MS = 30_000;
const PAGE = 100;

/** The agents of the account, a page after the other. */
export const callersQuery = infiniteQueryOptions({
  queryKey: ['agents', 'reach'],
  queryFn: ({ pageParam: cursor, signal }) =>
    answerOf(
      api.GET('/api/agents', { signal, params: { query: { limit: PAGE, ...(cursor && { cursor }) } } }),
    ),
  initialPageParam: '',
  getNextPageParam: ({ nextCursor }) => nextCursor,
  select: ({ pages }) =>
    pages.flatMap(({ items }) => items.map(({ id, name }): Caller => ({ id, name, type: 'agent' }))),
});

/** The active proxies that inject a credential. */
export const proxiesQuery = infiniteQueryOptions({
  queryKey: ['proxies', 'reach'],
  queryFn: ({ pageParam: cursor, signal }) =>
    answerOf(
      api.GET('/api/proxies', { signal, params: { query: { limit: PAGE, ...(cursor && { cursor }) } } }),
    ),
  initialPageParam: '',
  getNextPageParam: ({ nextCursor }) => nextCursor,
  select: ({ pages }) =>
    pages.flatMap(({ items }) =>
      items
        .filter(({ status, serviceName }) => status === 'active' && serviceName !== undefined)
        .map(({ id, name }): Caller => ({ id, name, type: 'proxy' })),
    ),
});

export const credentialsQuery = infiniteQueryOptions({
  queryKey: ['tokens', 'reach'],
  queryFn: ({ pageParam: cursor, signal }) =>
    answerOf(
      api.GET('/api/tokens', { signal, params: { query: { limit: PAGE, ...(cursor && { cursor }) } } }),
    ),
  initialPageParam: '',
  getNextPageParam: ({ nextCursor }) => nextCursor,
  select: ({ pages }) => pages.flatMap(({ items }) => items.map(({ serviceName }) => serviceName)),
});

/** What a search may mean, with the address that it leads to. */
export interface Found {
  readonly name: string;
  readonly search: ReachSearch;
}

const SUGGESTIONS = 20;

/** Agents and active proxies whose name contains a text. */
export const callersNamed = (name: string) =>
  queryOptions({
    queryKey: ['agents', 'reach', 'named', name],
    queryFn: async ({ signal }): Promise<readonly Found[]> => {
      const options = { signal, params: { query: { name, limit: SUGGESTIONS } } };
      const [agents, proxies] = await Promise.all([
        answerOf(api.GET('/api/agents', options)),
        answerOf(api.GET('/api/proxies', options)),
      ]);
      return [
        ...agents.items.map((agent) => ({ name: agent.name, search: { agent: agent.id } })),
        ...proxies.items
          .filter(({ status }) => status === 'active')
          .map((proxy) => ({ name: proxy.name, search: { proxy: proxy.id } })),
      ];
    },
  });

/** Credentials whose service name contains a text. */
export const credentialsNamed = (name: string) =>
  queryOptions({
    queryKey: ['tokens', 'reach', 'named', name],
    queryFn: async ({ signal }): Promise<readonly Found[]> => {
      const { items } = await answerOf(
        api.GET('/api/tokens', { signal, params: { query: { name, limit: SUGGESTIONS } } }),
      );
      return items.map(({ serviceName }) => ({ name: serviceName, search: { credential: serviceName } }));
    },
  });

/** The states of some callers with some credentials: at most 50 of each. */
export const statesQuery = (callerIds: readonly string[], serviceNames: readonly string[]) =>
  queryOptions({
    queryKey: ['reach', 'matrix', callerIds, serviceNames],
    queryFn: ({ signal }) =>
      answerOf(
        api.POST('/api/reach/matrix', {
          signal,
          body: { callerIds: [...callerIds], serviceNames: [...serviceNames] },
        }),
      ),
    staleTime: FRESH_MS,
    refetchInterval: FRESH_MS,
  });

/** The pairs of an agent, a proxy or a credential, or of two of them. */
export const pairsQuery = ({ agent, proxy, credential, cursor }: ReachSearch) =>
  queryOptions({
    queryKey: ['reach', { agent, proxy, credential, cursor }],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/reach', {
          signal,
          params: {
            query: {
              ...(agent && { agentId: agent }),
              ...(proxy && { proxyId: proxy }),
              ...(credential && { serviceName: credential }),
              ...(cursor && { cursor }),
            },
          },
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: FRESH_MS,
  });

/** The name of an agent or a proxy. */
export const callerQuery = (id: string) =>
  queryOptions({
    queryKey: [isProxyId(id) ? 'proxies' : 'agents', id, 'caller'],
    queryFn: async ({ signal }) => {
      const options = { signal, params: { path: { id } } };
      if (isProxyId(id)) return { proxy: await answerOf(api.GET('/api/proxies/{id}', options)) };
      return { agent: await answerOf(api.GET('/api/agents/{id}', options)) };
    },
  });

/** The newest request of a caller for a credential, allowed or denied. */
export const lastUseQuery = ({ callerId, serviceName }: Cell) =>
  queryOptions({
    queryKey: ['audit', 'last-use', callerId, serviceName],
    queryFn: async ({ signal }) => {
      const isProxy = isProxyId(callerId);
      const { items } = await answerOf(
        api.GET('/api/audit', {
          signal,
          params: {
            query: {
              limit: 1,
              serviceName,
              eventType: isProxy ? 'PROXY_CREDENTIAL_USE' : 'AGENT_CREDENTIAL_ACCESS',
              ...(isProxy ? { proxyId: callerId } : { agentId: callerId }),
            },
          },
        }),
      );
      return { event: items[0] };
    },
  });

/** What the policies of now decide about a request from an unknown address. */
export const simulationQuery = ({ callerId, serviceName }: Cell) =>
  queryOptions({
    queryKey: ['policies', 'simulation', callerId, serviceName],
    queryFn: ({ signal }) =>
      answerOf(
        api.POST('/api/policies/simulate', {
          signal,
          body: { serviceName, ...(isProxyId(callerId) ? { proxyId: callerId } : { agentId: callerId }) },
        }),
      ),
  });
