import { type FaultyWebhook, startFaultyWebhook } from './faulty-webhook.ts';
import { type Answer, type ManagementService, makePlace, serveOn } from './management-service.ts';
import { type ServiceSteps, stepsOn } from './service-steps.ts';

/** A service beside a webhook that has the faults a test wants. Without faults: paired-service.ts. */
export interface LinkedService extends ManagementService, ServiceSteps {
  readonly webhook: FaultyWebhook;
  /** Binds the webhook of this service. */
  bind(): Promise<Answer>;
}

export async function startLinkedService(): Promise<LinkedService> {
  const place = await makePlace({ SV_EGRESS_ALLOW: '127.0.0.0/8' });
  const service = await serveOn(place);
  const webhook = await startFaultyWebhook(service.clock);
  const { admin, running } = service;
  return {
    ...service,
    ...stepsOn(running.url, admin),
    webhook,
    bind: () => admin('POST', '/api/webhook/bind', { body: webhook.offer() }),
    stop: async () => {
      await webhook.shut();
      await service.stop();
    },
  };
}
