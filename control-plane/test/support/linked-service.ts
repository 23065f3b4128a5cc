import type { ServeOptions } from '../../src/serve.ts';
import { type JobsByHand, jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { type FaultyWebhook, startFaultyWebhook } from './faulty-webhook.ts';
import { type Answer, type ManagementService, makePlace, serveOn } from './management-service.ts';
import { type ServiceSteps, stepsOn } from './service-steps.ts';

/** A control plane with a faulty webhook; paired-service.ts has the reference webhook. */
export interface LinkedService extends ManagementService, ServiceSteps {
  readonly webhook: FaultyWebhook;
  /** The pause before each retry, in ms; none is waited for. */
  readonly pausesMs: number[];
  /** Runs a background job once, by its name in the log. */
  readonly runJob: JobsByHand['run'];
  bind(): Promise<Answer>;
}

/**
 * @param more settings
 * @param options.timers true to run background jobs by timers; they may detect an outage before the test does
 */
export async function startLinkedService(
  more: Readonly<Record<string, string>> = {},
  {
    timers = false,
    timeouts,
    consoleFolder,
  }: { readonly timers?: boolean } & Pick<ServeOptions, 'timeouts' | 'consoleFolder'> = {},
): Promise<LinkedService> {
  const place = await makePlace({ SV_EGRESS_ALLOW: '127.0.0.0/8', ...more });
  const jobs = jobsByHand();
  const pausesMs: number[] = [];
  const waitToRetry = async (ms: number): Promise<unknown> => pausesMs.push(ms);
  const service = await serveOn(place, undefined, {
    waitToRetry,
    ...(!timers && { startJob: jobs.startJob }),
    ...(timeouts && { timeouts }),
    consoleFolder,
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
