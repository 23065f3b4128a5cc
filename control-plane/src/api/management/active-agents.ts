import * as z from 'zod';
import { MAX_ACTIVE_HOURS, readActiveAgents } from '../../audit/active-agents.ts';
import type { Needs } from './dependencies.ts';
import { pageQuery, timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const DEFAULT_AGENTS = 10;

const activeAgentsQuery = z.strictObject({
  hours: z
    .string()
    .refine(
      (text) => /^[1-9][0-9]?$/.test(text) && Number(text) <= MAX_ACTIVE_HOURS,
      `must be a whole number from 1 to ${MAX_ACTIVE_HOURS}`,
    )
    .optional()
    .meta({
      description: 'The present hour and those before it',
      override: { type: 'integer', minimum: 1, maximum: MAX_ACTIVE_HOURS, default: MAX_ACTIVE_HOURS },
    }),
  limit: pageQuery.limit.meta({
    description: 'Most agents to give',
    override: { type: 'integer', minimum: 1, maximum: 100, default: DEFAULT_AGENTS },
  }),
});

const activeAgentsSchema = z
  .object({
    since: timeSchema.meta({ description: 'The start of the first hour' }),
    complete: z.boolean().meta({
      description:
        'false while the newest of many events are not counted yet, or where so many agents ask that one may be missing',
    }),
    items: z.array(
      z
        .object({
          agentId: z.string(),
          name: z.string().nullable().meta({ description: 'Of a deleted agent too' }),
          accesses: z.int(),
          denied: z.int(),
          rateLimited: z.int(),
          errors: z.int(),
        })
        .meta({ id: 'AgentActivity', description: 'Requests for credentials of one agent, by outcome' }),
    ),
  })
  .meta({ id: 'ActiveAgents', description: 'Those with the most requests first' });

/** Who asks for credentials, as the first page of a console shows it. */
export function createActiveAgentsRoute({
  stores,
  clock,
}: Needs<'clock', 'activity' | 'audit' | 'names'>): ManagementRoute {
  return defineRoute('GET /api/overview/agents', {
    tag: 'Overview',
    role: 'member',
    operation: 'listActiveAgents',
    summary: 'List the agents with the most requests for credentials in the last hours, by outcome',
    query: activeAgentsQuery,
    response: { status: 200, schema: activeAgentsSchema },
    handle: async ({ actor: { vaultId }, query }) => {
      const { hours = MAX_ACTIVE_HOURS, limit = DEFAULT_AGENTS } = query;
      const request = { hours: Number(hours), limit: Number(limit), nowMs: clock.now() };
      const { since, complete, agents } = await readActiveAgents(stores, vaultId, request);
      const names = await stores.names.of(
        vaultId,
        agents.map(({ agentId }) => agentId),
      );
      const items = agents.map((agent) => ({ ...agent, name: names.get(agent.agentId) ?? null }));
      return { since, complete, items };
    },
  });
}
