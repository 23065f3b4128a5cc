import { type Clock, type Id, formatTime } from '@svault/shared';
import type { Agent } from '../../core/agent.ts';
import { type Grant, isExpired } from '../../core/grant.ts';
import type { Stores } from '../../core/stores.ts';
import { MAX_LISTED, type OfferedAgent } from './consent-page-html.ts';

const MAX_AGENTS = 200;
/** Read of each agent where few are listed, and of all together where they are a menu. */
const MAX_GRANTS = { each: 100, together: 1_000 } as const;

/**
 * The agents that a consent page offers, by name, with the credentials that each may use.
 *
 * @returns `more`: whether there are more agents
 */
export async function offeredAgents(
  stores: Pick<Stores, 'agents' | 'grants'>,
  vaultId: Id<'vlt'>,
  clock: Clock,
): Promise<{ readonly agents: readonly OfferedAgent[]; readonly more: boolean }> {
  const page = { limit: MAX_AGENTS, after: undefined };
  const { items, nextCursor } = await stores.agents.list(vaultId, 'active', page);
  const more = nextCursor !== undefined;
  const now = formatTime(clock.now());
  const offer = (agent: Agent, grants: readonly Grant[], hasMore: boolean): OfferedAgent => ({
    ...agent,
    credentials: grants.filter((grant) => !isExpired(grant, now)).map(({ serviceName }) => serviceName),
    hasMore,
  });
  const offerEach = (): Promise<OfferedAgent[]> =>
    Promise.all(
      items.map(async (agent) => {
        const request = { limit: MAX_GRANTS.each, after: undefined };
        const grants = await stores.grants.list(vaultId, agent.id, request);
        return offer(agent, grants.items, grants.nextCursor !== undefined);
      }),
    );
  const offerTogether = async (): Promise<OfferedAgent[]> => {
    const grants = await stores.grants.listAll(vaultId, { limit: MAX_GRANTS.together, after: undefined });
    const byAgent = Map.groupBy(grants.items, ({ agentId }) => agentId);
    // They come by agent, so that those of the last one may go on.
    const isCut = grants.nextCursor !== undefined;
    const lastRead = grants.items.at(-1)?.agentId;
    return items.map((agent) => {
      const own = byAgent.get(agent.id);
      return offer(agent, own ?? [], isCut && (own === undefined || agent.id === lastRead));
    });
  };
  const agents = await (items.length <= MAX_LISTED && !more ? offerEach() : offerTogether());
  return { agents: agents.toSorted((a, b) => a.name.localeCompare(b.name, 'en')), more };
}
