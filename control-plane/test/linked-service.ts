import type { Answer } from './management-service.ts';
import { type ManagementService, clientOf, makePlace, serveOn } from './management-service.ts';
import { type FakeWebhook, startFakeWebhook } from './fake-webhook.ts';

/** A service with a webhook beside it, and the steps that most tests begin with. */
export interface LinkedService extends ManagementService {
  readonly webhook: FakeWebhook;
  /** Makes an agent with grants; `get` asks for a credential with its key. */
  agent(...serviceNames: string[]): Promise<TestAgent>;
  /** Binds the webhook of this service. */
  bind(): Promise<Answer>;
  /** Events of the log, newest first. */
  log(query?: string): Promise<LoggedEvent[]>;
}

export interface TestAgent {
  readonly id: string;
  readonly apiKey: string;
  get(serviceName: string): Promise<Answer>;
  list(): Promise<Answer>;
}

export interface LoggedEvent {
  readonly seq: number;
  readonly id: string;
  readonly eventType: string;
  readonly outcome: string;
  readonly agentId?: string;
  readonly serviceName?: string;
  readonly count?: number;
  readonly timestamp: string;
  readonly detail?: Record<string, unknown>;
}

export const CREDENTIALS = '/api/agents/credentials';

export async function startLinkedService(): Promise<LinkedService> {
  const place = await makePlace({ SV_EGRESS_ALLOW: '127.0.0.0/8' });
  const service = await serveOn(place);
  const webhook = await startFakeWebhook(service.clock);
  const { admin } = service;
  return {
    ...service,
    webhook,
    bind: () => admin('POST', '/api/webhook/bind', { body: webhook.offer() }),
    agent: async (...serviceNames) => {
      const made = await admin('POST', '/api/agents', { body: { name: 'builder' } });
      const { agent, apiKey } = made.json as { agent: { id: string }; apiKey: string };
      for (const serviceName of serviceNames)
        await admin('POST', `/api/agents/${agent.id}/grants`, { body: { serviceName } });
      const call = clientOf(service.running.url, { authorization: `Bearer ${apiKey}` });
      return {
        id: agent.id,
        apiKey,
        get: (serviceName) => call('GET', `${CREDENTIALS}?service=${encodeURIComponent(serviceName)}`),
        list: () => call('GET', CREDENTIALS),
      };
    },
    log: async (query = '') => {
      const { json } = await admin('GET', `/api/audit?limit=100${query}`);
      return (json as { items: LoggedEvent[] }).items;
    },
    stop: async () => {
      await webhook.shut();
      await service.stop();
    },
  };
}
