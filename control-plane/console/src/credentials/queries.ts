import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';
import type { TokenType } from './kinds.ts';

/** One page of credentials. */
export interface CredentialPage {
  readonly name?: string | undefined;
  readonly type?: TokenType | undefined;
  readonly folder?: string | undefined;
  readonly cursor?: string | undefined;
}

export const credentialsQuery = ({ name, type, folder, cursor }: CredentialPage) =>
  queryOptions({
    queryKey: ['credentials', { name, type, folder, cursor }],
    queryFn: ({ signal }) =>
      answerOf(
        api.GET('/api/tokens', {
          signal,
          params: {
            query: {
              ...(name && { name }),
              ...(type && { tokenType: type }),
              ...(folder && { folderId: folder }),
              ...(cursor && { cursor }),
            },
          },
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const credentialQuery = (serviceName: string) =>
  queryOptions({
    queryKey: ['credentials', serviceName],
    queryFn: ({ signal }) =>
      answerOf(api.GET('/api/tokens/{serviceName}', { signal, params: { path: { serviceName } } })),
  });

/** Who can reach a credential: as many as are named before it is deleted. */
export const reachQuery = (serviceName: string) =>
  queryOptions({
    queryKey: ['credentials', serviceName, 'reach'],
    queryFn: ({ signal }) =>
      answerOf(api.GET('/api/reach', { signal, params: { query: { serviceName, limit: 50 } } })),
  });

/** The last use by an agent or through a proxy, as far back as one request looks. */
export const lastUseQuery = (serviceName: string) =>
  queryOptions({
    queryKey: ['credentials', serviceName, 'last-use'],
    queryFn: async ({ signal }) => {
      const uses = await Promise.all(
        (['AGENT_CREDENTIAL_ACCESS', 'PROXY_CREDENTIAL_USE'] as const).map((eventType) =>
          answerOf(
            api.GET('/api/audit', {
              signal,
              params: { query: { serviceName, eventType, outcome: 'success', limit: 1 } },
            }),
          ),
        ),
      );
      const [last] = uses.flatMap(({ items }) => items).toSorted((a, b) => b.seq - a.seq);
      return { last, isWhole: uses.every(({ nextCursor }) => nextCursor === undefined) };
    },
  });
