import type { ServeOptions } from '../src/serve.ts';
import { type JobsByHand, jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { type FaultyWebhook, startFaultyWebhook } from './faulty-webhook.ts';
import { type Answer, type ManagementService, makePlace, serveOn } from './management-service.ts';
import { type ServiceSteps, stepsOn } from './service-steps.ts';

/** A service beside a webhook that has the faults a test wants. Without faults: paired-service.ts. */
export interface LinkedService extends ManagementService, ServiceSteps {
  readonly webhook: FaultyWebhook;
  /** Milliseconds for which the service would have waited before each repeated call; here nobody waits. */
  readonly pausesMs: number[];
  /** Runs a background job once, by its name in the log. */
  readonly runJob: JobsByHand['run'];
  /** Binds the webhook of this service. */
  bind(): Promise<Answer>;
}

/**
 * @param more settings
 * @param options.timers true where the background jobs are to run by themselves: they call the webhook whenever they like, and
 *   find out that it is away before the test does
 * @param options.timeouts for tests of how long is waited for a webhook that does not answer
 */
export async function startLinkedService(
  more: Readonly<Record<string, string>> = {},
  { timers = false, timeouts }: { readonly timers?: boolean } & Pick<ServeOptions, 'timeouts'> = {},
): Promise<LinkedService> {
  const place = await makePlace({ SV_EGRESS_ALLOW: '127.0.0.0/8', ...more });
  const jobs = jobsByHand();
  const pausesMs: number[] = [];
  const waitToRepeat = async (ms: number): Promise<unknown> => pausesMs.push(ms);
  const service = await serveOn(place, undefined, {
    waitToRepeat,
    ...(!timers && { startJob: jobs.startJob }),
    ...(timeouts && { timeouts }),
  });
  const webhook = await startFaultyWebhook(service.clock);
  const { admin, running } = service;
  return {
    ...service,
    ...stepsOn(running.url, admin),
    webhook,
    pausesMs,
    runJob: jobs.run,
    bind: () => admin('POST', '/api/webhook/bind', { body: webhook.offer() }),
    stop: async () => {
      await webhook.shut();
      await service.stop();
    },
  };
}
