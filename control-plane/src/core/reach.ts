import type { Id } from '@svault/shared';
import type { Agent } from './agent.ts';
import type { Grant } from './grant.ts';
import type { Page, PageRequest } from './paging.ts';
import type { Proxy } from './proxy.ts';

/** What pages of pairs go by: all of an agent's or proxy's together, or all of a credential's. */
export const REACH_ORDERS = ['agent', 'credential'] as const;

type ReachOrder = (typeof REACH_ORDERS)[number];

/** Which pairs of a caller and a credential; those without any of the three: all of the account. */
export interface ReachQuery {
  /** The order of the whole account; undefined: by agent. */
  readonly by?: ReachOrder | undefined;
  /** The agent, and the proxies that act for it. */
  readonly agentId?: string | undefined;
  readonly proxyId?: string | undefined;
  readonly serviceName?: string | undefined;
}

/** An agent with its grant, expired or not; or an active proxy, which needs none, with the agent that it acts for. */
export type ReachPair = { readonly serviceName: string } & (
  | { readonly type: 'agent'; readonly agent: Agent; readonly grant: Grant }
  | { readonly type: 'proxy'; readonly proxy: Proxy; readonly agent: Agent | undefined }
);

/** The order of an answer: one that an index of what is asked for has, so that a page reads no more than it answers with. */
export function orderOf({ by = 'agent', agentId, proxyId, serviceName }: ReachQuery): ReachOrder {
  if (serviceName !== undefined) return 'credential';
  return agentId === undefined && proxyId === undefined ? by : 'agent';
}

/** The id of a pair's agent or proxy. */
export const callerIdOf = (pair: ReachPair): Id<'agt'> | Id<'prx'> =>
  pair.type === 'agent' ? pair.agent.id : pair.proxy.id;

/** Callers and credentials, each with each. */
export interface ReachSelection {
  /** Ids of agents and proxies. */
  readonly callerIds: readonly string[];
  readonly serviceNames: readonly string[];
}

export interface ReachStore {
  /** By caller's id and service name, or the other way round; it reads no more than a page. */
  list(vaultId: Id<'vlt'>, query: ReachQuery, page: PageRequest): Promise<Page<ReachPair>>;
  /** The pairs of some callers and some credentials, in no order; it reads no more than these. */
  among(vaultId: Id<'vlt'>, selection: ReachSelection): Promise<readonly ReachPair[]>;
}
