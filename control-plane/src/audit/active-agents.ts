import type { Id } from '@svault/shared';
import {
  type ActivityCount,
  type ActivityCounts,
  type ActivityStore,
  sumByOutcome,
} from '../core/activity.ts';
import { type ActivityStores, lastHours, readActivity, readCounts } from './activity.ts';

export const MAX_ACTIVE_HOURS = 24;
/** Of an hour's counts the largest are looked at: those of all hours take a few milliseconds. */
const LARGEST_PER_HOUR = 300;
/** Counts that an agent may have in an hour, one for each outcome. */
const PER_AGENT = 4;

/** Agents by how much they asked for. */
export interface ActiveAgents {
  readonly since: string;
  /** False where more agents asked than were looked at, so that one may be missing, or while events are not counted yet. */
  readonly complete: boolean;
  /** The most active first. */
  readonly agents: readonly (ActivityCounts & { readonly agentId: Id<'agt'> })[];
}

/**
 * The agents with the most credential requests in the last hours, of any outcome. It costs the same for any number of agents:
 * candidates are those of each hour's largest counts, whose requests are then counted.
 */
export async function readActiveAgents(
  stores: ActivityStores & { readonly activity: Pick<ActivityStore, 'largest'> },
  vaultId: Id<'vlt'>,
  { hours, limit, nowMs }: { readonly hours: number; readonly limit: number; readonly nowMs: number },
): Promise<ActiveAgents> {
  const { starts, ...window } = lastHours(hours, nowMs);
  const request = { bucket: 'hour', ...window } as const;
  const largest = await stores.activity.largest(vaultId, starts, LARGEST_PER_HOUR);
  const account = await readCounts(stores, vaultId, { ...request, agentIds: undefined });
  const candidates = requestsByAgent([...largest, ...account.uncounted]);
  const agentIds = candidates.slice(0, limit).map(([agentId]) => agentId);
  if (agentIds.length === 0) return { since: window.from, complete: account.complete, agents: [] };
  const missed = mostMissed(largest);
  const [last = 0, next = 0] = [candidates[limit - 1]?.[1], candidates[limit]?.[1]];
  const isKnown = missed === 0 || last >= next + missed;
  const { counts, complete } = await readActivity(stores, vaultId, { ...request, agentIds });
  const byAgent = Map.groupBy(counts, ({ agentId }) => agentId);
  return {
    since: window.from,
    complete: complete && isKnown,
    agents: requestsByAgent(counts).map(([agentId]) => ({
      agentId,
      ...sumByOutcome(byAgent.get(agentId) ?? []),
    })),
  };
}

/** The requests of each agent, the most first; equal ones by id. */
function requestsByAgent(
  counts: readonly Pick<ActivityCount, 'agentId' | 'requests'>[],
): readonly (readonly [agentId: Id<'agt'>, requests: number])[] {
  const sums = new Map<Id<'agt'>, number>();
  for (const { agentId, requests } of counts)
    if (agentId !== undefined) sums.set(agentId, (sums.get(agentId) ?? 0) + requests);
  return [...sums].toSorted(([id, one], [otherId, other]) => other - one || (id < otherId ? -1 : 1));
}

/** The most requests that an agent can have in counts that were not looked at: those below the smallest of a full hour. */
function mostMissed(largest: readonly Pick<ActivityCount, 'requests' | 'startsAt'>[]): number {
  const byHour = Map.groupBy(largest, ({ startsAt }) => startsAt);
  return [...byHour.values()]
    .filter((counts) => counts.length === LARGEST_PER_HOUR)
    .reduce((sum, counts) => sum + PER_AGENT * Math.min(...counts.map(({ requests }) => requests)), 0);
}
