import { type Answer, type Call, clientOf } from './management-service.ts';
import { uniqueName } from './unique-name.ts';

export const CREDENTIALS = '/api/agents/credentials';

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
  readonly proxyId?: string;
  readonly userId?: string;
  readonly serviceName?: string;
  readonly count?: number;
  readonly timestamp: string;
  readonly detail?: Record<string, unknown>;
  readonly origin?: Record<string, string>;
}

/** The steps that most tests begin with. */
export interface ServiceSteps {
  /** Makes an agent with grants; `get` asks for a credential with its key. */
  agent(...serviceNames: string[]): Promise<TestAgent>;
  /** Events of the log, newest first. */
  log(query?: string): Promise<LoggedEvent[]>;
}

export const stepsOn = (url: string, admin: Call): ServiceSteps => ({
  agent: async (...serviceNames) => {
    const made = await admin('POST', '/api/agents', { body: { name: uniqueName('builder') } });
    const { agent, apiKey } = made.json as { agent: { id: string }; apiKey: string };
    for (const serviceName of serviceNames)
      await admin('POST', `/api/agents/${agent.id}/grants`, { body: { allowMissing: true, serviceName } });
    const call = clientOf(url, { authorization: `Bearer ${apiKey}` });
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
});
