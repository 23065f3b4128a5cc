import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { ApiFailure, type Schemas, answerOf, api } from '../api/client.ts';

export type Proxy = Schemas['Proxy'];

/** The kinds of upstreams, as displayed. */
export const KIND_NAMES: Readonly<Record<Proxy['kind'], string>> = { mcp: 'MCP server', http: 'HTTP API' };

/** One page of proxies. */
export interface ProxyPage {
  readonly name?: string | undefined;
  readonly cursor?: string | undefined;
}

export const proxiesQuery = ({ name, cursor }: ProxyPage) =>
  queryOptions({
    queryKey: ['proxies', { name, cursor }],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/proxies', {
          signal,
          params: { query: { ...(name && { name }), ...(cursor && { cursor }) } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const proxyQuery = (id: string) =>
  queryOptions({
    queryKey: ['proxies', id],
    queryFn: ({ signal }) => answerOf(api.GET('/api/proxies/{id}', { signal, params: { path: { id } } })),
  });

/** A credential, with what the webhook says of it; nothing where there is none of this name. */
export const credentialQuery = (serviceName: string) =>
  queryOptions({
    queryKey: ['tokens', serviceName, 'of-proxy'],
    queryFn: async ({ signal }) => {
      const call = api.GET('/api/tokens/{serviceName}', { signal, params: { path: { serviceName } } });
      return answerOf(call).catch((error: unknown) => {
        if (error instanceof ApiFailure && error.code === 'NOT_FOUND') return null;
        throw error;
      });
    },
  });

/** Names of agents for a form. @param typed a part of the names */
export const agentNamesQuery = (typed: string) =>
  queryOptions({
    queryKey: ['agents', 'names', typed],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/agents', { signal, params: { query: { limit: 20, ...(typed && { name: typed }) } } }),
      ),
    placeholderData: keepPreviousData,
  });
