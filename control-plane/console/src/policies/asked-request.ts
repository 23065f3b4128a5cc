import { queryOptions, useQuery } from '@tanstack/react-query';
import { eventQuery } from '../activity/audit-queries.ts';
import { type Schemas, answerOf, api } from '../api/client.ts';
import type { Event } from './queries.ts';
import type { RequestSearch } from './request-search.ts';

type Imagined = Schemas['ImaginedRequest'];

const simulationQuery = (request: Imagined) =>
  queryOptions({
    queryKey: ['policies', 'simulation', request],
    queryFn: ({ signal }) => answerOf(api.POST('/api/policies/simulate', { signal, body: request })),
  });

/** The request of the address, its event where it has one, and what the policies of now decide about it. */
export function useAskedRequest(search: RequestSearch) {
  const event = useQuery({ ...eventQuery(search.event ?? ''), enabled: search.event !== undefined });
  const request = search.event === undefined ? requestIn(search) : event.data && requestOf(event.data);
  const simulation = useQuery({
    ...simulationQuery(request ?? { serviceName: '' }),
    enabled: request !== undefined,
  });
  return {
    event: event.data,
    request,
    simulation: request === undefined ? undefined : simulation.data,
    error: event.error ?? simulation.error,
    isPending:
      (search.event !== undefined && event.isPending) || (request !== undefined && simulation.isPending),
  };
}

function requestIn({ agent, proxy, service, at, ip, ...search }: RequestSearch): Imagined | undefined {
  if (service === undefined || (agent === undefined && proxy === undefined)) return undefined;
  return {
    serviceName: service,
    ...(proxy === undefined ? { agentId: agent ?? '' } : { proxyId: proxy }),
    ...(at !== undefined && { at }),
    ...(ip !== undefined && { ip }),
    ...callIn(search),
  };
}

/** What a proxy is asked; nothing where the address does not say. */
export function callIn({ method, path, tool }: RequestSearch): Pick<Imagined, 'call'> {
  const call = { ...(method && { method }), ...(path && { path }), ...(tool && { tool }) };
  return Object.keys(call).length === 0 ? {} : { call };
}

/** @returns undefined for an event that reports no request for a credential */
function requestOf({ agentId, proxyId, serviceName, timestamp, origin }: Event): Imagined | undefined {
  if (serviceName === undefined || (agentId === undefined && proxyId === undefined)) return undefined;
  return {
    serviceName,
    ...(proxyId === undefined ? { agentId: agentId ?? '' } : { proxyId }),
    at: timestamp,
    ...(origin?.address !== undefined && { ip: origin.address }),
  };
}
