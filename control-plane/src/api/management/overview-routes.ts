import type { Clock } from '@svault/shared';
import { type ManagementRoute, defineRoute } from './route-definition.ts';
import type { Limiter } from '../../limits/limiter.ts';
import { readOverview } from '../../management/read-overview.ts';
import { type GuideStep, markStep, readGuide } from '../../management/setup-guide.ts';
import type { Stores } from '../../core/stores.ts';
import type { OnlineStatus } from '../../webhook/outages.ts';
import { overviewSchema, toOverviewView } from './schemas/overview.ts';
import { setupGuideSchema, setupMarkSchema, setupStepParams } from './schemas/setup.ts';

/** What a console shows first: how the account is doing, and what is to be done next. */
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
      whenLocked: 'answers',
      answer: { status: 200, schema: overviewSchema },
      handle: async ({ actor }) => toOverviewView(await readOverview(dependencies, actor)),
    }),
    defineRoute({
      ...shared,
      method: 'get',
      path: '/api/setup',
      operation: 'getSetup',
      summary: 'Read which steps of the set-up are done',
      whenLocked: 'answers',
      answer: { status: 200, schema: setupGuideSchema },
      handle: async ({ actor }) => toGuideView(await readGuide(stores, actor.vaultId, clock)),
    }),
    defineRoute({
      ...shared,
      method: 'post',
      path: '/api/setup/steps/{step}',
      operation: 'markSetupStep',
      summary: 'Say of a step that it is done, or that it is not wanted; what is done shows by itself',
      whenLocked: 'refused',
      limit: 'setup_step',
      params: setupStepParams,
      body: setupMarkSchema,
      answer: { status: 200, schema: setupGuideSchema },
      handle: async ({ actor, body: { state = 'done' }, transaction, params: { step } }) =>
        toGuideView(await transaction((inside) => markStep(inside, actor, { step, state }, clock))),
    }),
  ];
}

const toGuideView = (steps: readonly GuideStep[]): { steps: GuideStep[]; complete: boolean } => ({
  steps: [...steps],
  complete: steps.every(({ state }) => state !== 'open'),
});
