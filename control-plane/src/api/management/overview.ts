import * as z from 'zod';
import { SETUP_STATES, SETUP_STEPS } from '../../core/setup.ts';
import { COUNTED_UP_TO, type Overview, readOverview } from '../../management/overview.ts';
import { type GuideStep, markStep, readGuide } from '../../management/setup-guide.ts';
import type { Needs } from './dependencies.ts';
import { timeSchema } from './fields.ts';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import { toVaultView } from './vault.ts';

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
          description: 'The start of the first of 24 hours, the present one included',
        }),
        complete: z
          .boolean()
          .meta({ description: 'false while the newest of many events are not counted yet' }),
        accesses: z.int(),
        denied: z.int(),
        rateLimited: z.int(),
        errors: z.int(),
      })
      .meta({ description: 'Requests for credentials' }),
    webhook: z.object({
      bound: z.boolean(),
      url: z.string().optional().meta({ description: 'Where secrets are stored, as store tickets name it' }),
      online: z.boolean().optional().meta({ description: 'false while it is known not to answer' }),
      lastSeenAt: timeSchema.nullable().optional(),
      logBehindSince: timeSchema.nullable().optional().meta({
        description: 'Since when an event waits that it has not acknowledged; null where none waits long',
      }),
    }),
    lockouts: z.int().meta({ description: 'Agents and proxies in the penalty box' }),
  })
  .meta({ id: 'Overview' });

function toOverviewView(overview: Overview): z.output<typeof overviewSchema> {
  const { vault, counts, webhook } = overview;
  return {
    ...overview,
    vault: toVaultView(vault),
    agents: { active: counts.agentsActive, suspended: counts.agentsSuspended },
    tokens: counts.tokens,
    folders: counts.folders,
    grants: { live: counts.grantsLive, endingSoon: counts.grantsEndingSoon },
    policies: counts.policies,
    proxies: counts.proxiesActive,
    countedUpTo: COUNTED_UP_TO,
    webhook: {
      bound: webhook !== undefined,
      ...(webhook && {
        url: webhook.url,
        online: webhook.online,
        lastSeenAt: webhook.lastSeenAt ?? null,
        logBehindSince: webhook.logBehindSince ?? null,
      }),
    },
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
export function createOverviewRoutes(
  dependencies: Needs<
    'clock' | 'limiter' | 'status',
    'activity' | 'audit' | 'overview' | 'setup' | 'vaults' | 'webhookLinks'
  >,
): ManagementRoute[] {
  const { clock, stores } = dependencies;
  const shared = { tag: 'Overview', role: 'member' } as const;
  return [
    defineRoute('GET /api/overview', {
      ...shared,
      operation: 'getOverview',
      summary: 'Read how the account is doing, in numbers',
      response: { status: 200, schema: overviewSchema },
      handle: async ({ actor }) => toOverviewView(await readOverview(dependencies, actor)),
    }),
    defineRoute('GET /api/setup', {
      ...shared,
      operation: 'getSetup',
      summary: 'Read which steps of the set-up are done',
      response: { status: 200, schema: setupGuideSchema },
      handle: async ({ actor }) => toGuideView(await readGuide(stores, actor.vaultId, clock)),
    }),
    defineRoute('POST /api/setup/steps/{step}', {
      ...shared,
      operation: 'markSetupStep',
      summary: 'Say of a step that it is done, or that it is not wanted; what is done shows by itself',
      limit: 'setup_step',
      params: setupStepParams,
      body: setupMarkSchema,
      response: { status: 200, schema: setupGuideSchema },
      change: async (inside, { body: { state = 'done' }, params: { step } }) =>
        toGuideView(await markStep(inside, { step, state }, clock)),
    }),
  ];
}

const toGuideView = (steps: readonly GuideStep[]): { steps: GuideStep[]; complete: boolean } => ({
  steps: [...steps],
  complete: steps.every(({ state }) => state !== 'open'),
});
