import type { Clock } from '@svault/shared';
import { z } from 'zod';
import { SETUP_STATES, SETUP_STEPS } from '../../core/setup.ts';
import type { Stores } from '../../core/stores.ts';
import type { Limiter } from '../../limits/limiter.ts';
import { COUNTED_UP_TO, type Overview, readOverview } from '../../management/overview.ts';
import { type GuideStep, markStep, readGuide } from '../../management/setup-guide.ts';
import type { OnlineStatus } from '../../webhook/outages.ts';
import { timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';

const overviewSchema = z
  .object({
    vault: z.object({ locked: z.boolean(), lockedAt: timeSchema.nullable() }),
    agents: z.object({ active: z.int(), suspended: z.int() }),
    tokens: z.int(),
    folders: z.int(),
    grants: z.object({
      live: z.int(),
      endingSoon: z.int().meta({ description: 'Of the live ones: within 24 hours' }),
    }),
    policies: z.int(),
    proxies: z.int().meta({ description: 'Active ones' }),
    countedUpTo: z.int().meta({ description: 'A number of this size stands for itself or more' }),
    activity: z
      .object({
        since: timeSchema.meta({
          description: '24 hours ago, or later in a log that is longer than is looked through',
        }),
        accesses: z.int(),
        denied: z.int(),
        rateLimited: z.int(),
        errors: z.int(),
      })
      .meta({ description: 'Requests for credentials' }),
    webhook: z.object({
      bound: z.boolean(),
      online: z.boolean().optional().meta({ description: 'false while it is known not to answer' }),
      lastSeenAt: timeSchema.nullable().optional(),
      logBehindSince: timeSchema.nullable().optional().meta({
        description: 'Since when an event waits that it has not acknowledged; null where none waits long',
      }),
    }),
    lockouts: z.int().meta({ description: 'Agents and proxies in the penalty box' }),
  })
  .meta({ id: 'Overview' });

function toOverviewView({
  vault: { lockedAt },
  counts,
  activity,
  webhook,
  lockouts,
}: Overview): z.output<typeof overviewSchema> {
  return {
    vault: { locked: lockedAt !== undefined, lockedAt: lockedAt ?? null },
    agents: { active: counts.agentsActive, suspended: counts.agentsSuspended },
    tokens: counts.tokens,
    folders: counts.folders,
    grants: { live: counts.grantsLive, endingSoon: counts.grantsEndingSoon },
    policies: counts.policies,
    proxies: counts.proxiesActive,
    countedUpTo: COUNTED_UP_TO,
    activity,
    webhook:
      webhook === undefined
        ? { bound: false }
        : {
            bound: true,
            online: webhook.online,
            lastSeenAt: webhook.lastSeenAt ?? null,
            logBehindSince: webhook.logBehindSince ?? null,
          },
    lockouts,
  };
}

const setupGuideSchema = z
  .object({
    steps: z.array(z.object({ step: z.enum(SETUP_STEPS), state: z.enum(SETUP_STATES) })),
    complete: z.boolean().meta({ description: 'Whether no step is open' }),
  })
  .meta({ id: 'SetupGuide' });

/** Any text is let through: a step that there is none of is not found. */
const setupStepParams = z.object({
  step: z.string().meta({ override: { type: 'string', enum: [...SETUP_STEPS] } }),
});

const setupMarkSchema = z.strictObject({
  state: z.enum(SETUP_STATES).optional().meta({ description: 'done unless it says otherwise' }),
});

/** The first page of a console: how the account is doing, and the next steps of its set-up. */
export function createOverviewRoutes(dependencies: {
  readonly clock: Clock;
  readonly limiter: Pick<Limiter, 'lockouts'>;
  readonly status: Pick<OnlineStatus, 'offlineForSeconds'>;
  readonly stores: Pick<Stores, 'audit' | 'overview' | 'setup' | 'vaults' | 'webhookLinks'>;
}): readonly ManagementRoute[] {
  const { clock, stores } = dependencies;
  const shared = { tag: 'Overview', role: 'member', audit: [] } as const;
  return [
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/overview',
      operation: 'getOverview',
      summary: 'Read how the account is doing, in numbers',
      whenLocked: 'allowed',
      response: { status: 200, schema: overviewSchema },
      handle: async ({ actor }) => toOverviewView(await readOverview(dependencies, actor)),
    }),
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/setup',
      operation: 'getSetup',
      summary: 'Read which steps of the set-up are done',
      whenLocked: 'allowed',
      response: { status: 200, schema: setupGuideSchema },
      handle: async ({ actor }) => toGuideView(await readGuide(stores, actor.vaultId, clock)),
    }),
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/setup/steps/{step}',
      operation: 'markSetupStep',
      summary: 'Say of a step that it is done, or that it is not wanted; what is done shows by itself',
      whenLocked: 'denied',
      limit: 'setup_step',
      params: setupStepParams,
      body: setupMarkSchema,
      response: { status: 200, schema: setupGuideSchema },
      handle: async ({ body: { state = 'done' }, transaction, params: { step } }) =>
        toGuideView(await transaction((inside) => markStep(inside, { step, state }, clock))),
    }),
  ];
}

const toGuideView = (steps: readonly GuideStep[]): { steps: GuideStep[]; complete: boolean } => ({
  steps: [...steps],
  complete: steps.every(({ state }) => state !== 'open'),
});
