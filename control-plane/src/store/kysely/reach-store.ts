import { type Id, isId } from '@svault/shared';
import type { Kysely } from 'kysely';
import type { Agent } from '../../core/agent.ts';
import { pageOf } from '../../core/paging.ts';
import type { Grant } from '../../core/grant.ts';
import type { Proxy } from '../../core/proxy.ts';
import { type ReachPair, type ReachStore, orderOf } from '../../core/reach.ts';
import type { Schema } from '../schema.ts';
import { AGENT, toAgent } from './agent-store.ts';
import { PROXY, toProxy } from './proxy-store.ts';
import { chunksOf, ofVault, pageBy, rowsOfChunks } from './queries.ts';
import { toEntity } from './rows.ts';

export function createReachStore(db: Kysely<Schema>): ReachStore {
  const agentsOf = async (vaultId: Id<'vlt'>, ids: readonly Id<'agt'>[]): Promise<Map<string, Agent>> => {
    const rows = await rowsOfChunks([...new Set(ids)], (some) =>
      db.selectFrom('agents').select(AGENT).where(ofVault(vaultId)).where('id', 'in', some),
    );
    return new Map(rows.map((row) => [row.id, toAgent(row)]));
  };
  const grantsOf = (vaultId: Id<'vlt'>) =>
    db.selectFrom('grants').selectAll().where('vault_id', '=', vaultId);
  // A proxy that sends sessions uses no credential.
  const proxiesOf = (vaultId: Id<'vlt'>) =>
    db
      .selectFrom('proxies')
      .select(PROXY)
      .where('vault_id', '=', vaultId)
      .where('status', '=', 'active')
      .where('service_name', 'is not', null);

  /** Adds the agents. Another request may have deleted one with its grants in between: such a pair is left out. */
  const pairsOf = async (vaultId: Id<'vlt'>, found: readonly Found[]): Promise<ReachPair[]> => {
    const agents = await agentsOf(
      vaultId,
      found.flatMap((one) => ('grant' in one ? one.grant.agentId : (one.proxy.agentId ?? []))),
    );
    return found.flatMap((one): ReachPair[] => {
      if ('proxy' in one) {
        const { proxy, serviceName } = one;
        return [{ type: 'proxy', serviceName, proxy, agent: agents.get(proxy.agentId ?? '') }];
      }
      const agent = agents.get(one.grant.agentId);
      return agent === undefined
        ? []
        : [{ type: 'agent', serviceName: one.serviceName, agent, grant: one.grant }];
    });
  };

  return {
    list: async (vaultId, query, { limit, after }) => {
      const { agentId, proxyId, serviceName } = query;
      const isByAgent = orderOf(query) === 'agent';
      let [grants, proxies] = [grantsOf(vaultId), proxiesOf(vaultId)];
      if (agentId !== undefined) {
        grants = grants.where('agent_id', '=', agentId as Id<'agt'>);
        proxies = proxies.where('agent_id', '=', agentId as Id<'agt'>);
      }
      if (serviceName !== undefined) {
        grants = grants.where('service_name', '=', serviceName);
        proxies = proxies.where('service_name', '=', serviceName);
      }
      if (proxyId !== undefined) proxies = proxies.where('id', '=', proxyId as Id<'prx'>);

      // One more of each than is answered: whichever come first of both, the next one is known.
      const request = { limit: limit + 1, after };
      const inOrder = <Column extends string>(...[caller, service]: [Column, Column]): [Column, Column] =>
        isByAgent ? [caller, service] : [service, caller];
      const granted: readonly Grant[] =
        proxyId === undefined
          ? (await pageBy(inOrder('agent_id', 'service_name'), grants, request, toEntity)).items
          : [];
      const { items: proxied } = await pageBy(inOrder('id', 'service_name'), proxies, request, toProxy);
      const found = [...granted.map(ofGrant), ...proxied.map(ofProxy)];
      const keyOf = (one: { readonly id: string; readonly serviceName: string }): [string, string] =>
        inOrder(one.id, one.serviceName);
      const page = pageOf(
        found.toSorted((a, b) => inByteOrder(keyOf(a), keyOf(b))),
        limit,
        keyOf,
      );
      return { ...page, items: await pairsOf(vaultId, page.items) };
    },
    among: async (vaultId, { callerIds, serviceNames }) => {
      const agentIds = callerIds.filter((id): id is Id<'agt'> => isId('agt', id));
      const proxyIds = callerIds.filter((id): id is Id<'prx'> => isId('prx', id));
      const found: Found[] = [];
      for (const names of chunksOf(serviceNames)) {
        const granted = await rowsOfChunks(agentIds, (ids) =>
          grantsOf(vaultId).where('agent_id', 'in', ids).where('service_name', 'in', names),
        );
        const proxied = await rowsOfChunks(proxyIds, (ids) =>
          proxiesOf(vaultId).where('id', 'in', ids).where('service_name', 'in', names),
        );
        found.push(
          ...granted.map((row) => ofGrant(toEntity(row))),
          ...proxied.map((row) => ofProxy(toProxy(row))),
        );
      }
      return pairsOf(vaultId, found);
    },
  };
}

/** A pair before its agent is read. */
type Found = { readonly id: string; readonly serviceName: string } & (
  { readonly grant: Grant } | { readonly proxy: Proxy }
);

const ofGrant = (grant: Grant): Found => ({ id: grant.agentId, serviceName: grant.serviceName, grant });
const ofProxy = (proxy: Proxy): Found => ({ id: proxy.id, serviceName: proxy.serviceName ?? '', proxy });

/** As both databases compare texts: by their bytes in UTF-8. */
const inByteOrder = (a: readonly [string, string], b: readonly [string, string]): number =>
  Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0])) ||
  Buffer.compare(Buffer.from(a[1]), Buffer.from(b[1]));
