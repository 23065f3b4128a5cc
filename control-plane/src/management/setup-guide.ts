import { type Clock, type Id, formatTime } from '@svault/shared';
import { notFound } from '../core/errors.ts';
import type { Change, Stores } from '../core/stores.ts';
import { SETUP_STEPS, type SetupState, type SetupStep, isSetupStep } from '../core/setup.ts';

/** A step of the guide, as it is shown. */
export interface GuideStep {
  readonly step: SetupStep;
  readonly state: SetupState;
}

type GuideStores = Pick<Stores, 'audit' | 'overview' | 'setup' | 'webhookLinks'>;

/** Reads the state of each step. A step that the service sees done is done; the others are as they were marked. */
export async function readGuide(
  stores: GuideStores,
  vaultId: Id<'vlt'>,
  clock: Clock,
): Promise<readonly GuideStep[]> {
  const marks = new Map((await stores.setup.marks(vaultId)).map(({ step, state }) => [step, state]));
  const seen = await stepsSeen(stores, vaultId, clock);
  return SETUP_STEPS.map((step) => ({
    step,
    state: seen.has(step) ? 'done' : (marks.get(step) ?? 'open'),
  }));
}

/** A token's metadata count as a stored credential; the webhook is not called for this. */
async function stepsSeen(
  { audit, overview, webhookLinks }: GuideStores,
  vaultId: Id<'vlt'>,
  clock: Clock,
): Promise<ReadonlySet<SetupStep>> {
  const now = formatTime(clock.now());
  const there = await overview.counts(vaultId, { now, soon: now, upTo: 1 });
  const seen: readonly (readonly [SetupStep, boolean])[] = [
    ['bind-webhook', (await webhookLinks.find(vaultId)) !== undefined],
    ['store-credential', there.tokens > 0],
    ['create-agent', there.agentsActive + there.agentsSuspended > 0],
    ['grant-access', there.grantsLive > 0],
    ['first-access', await hasAccessed(audit, vaultId)],
  ];
  return new Set(seen.filter(([, is]) => is).map(([step]) => step));
}

/** The oldest events, which contain the account's set-up. */
const EVENTS_OF_A_SETUP = 500;

/** Looks among the newest events, and then among the oldest, so that a done step does not reopen as the log grows. */
async function hasAccessed(audit: GuideStores['audit'], vaultId: Id<'vlt'>): Promise<boolean> {
  const access = { eventType: 'AGENT_CREDENTIAL_ACCESS', outcome: 'success' } as const;
  const { events } = await audit.scan(vaultId, access, { limit: 1 });
  if (events.length > 0) return true;
  const oldest = await audit.after(vaultId, 0, EVENTS_OF_A_SETUP);
  return oldest.some((event) => event.eventType === access.eventType && event.outcome === access.outcome);
}

/** @throws ApiError NOT_FOUND for an unknown step */
export async function markStep(
  change: Change,
  { step, state }: { readonly step: string; readonly state: SetupState },
  clock: Clock,
): Promise<readonly GuideStep[]> {
  const { vaultId, userId } = change.actor;
  if (!isSetupStep(step)) throw notFound();
  await change.setup.mark(vaultId, { step, state, markedAt: formatTime(clock.now()) }, userId);
  return readGuide(change, vaultId, clock);
}
