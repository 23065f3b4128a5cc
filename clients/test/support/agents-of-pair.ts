import { storeCredential } from '@svault/compose/admin-client';
import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { type TestPair, startPair } from '@svault/test-kit/pair';

/** A real pair whose agents are made for a test. */
export interface AgentsOfPair {
  readonly pair: TestPair;
  /** Stores a credential. @param further members of the store's body */
  store(serviceName: string, value: string, further?: object): Promise<void>;
  /** An agent that is granted these services. @returns its id, and what its environment holds */
  agent(...services: readonly string[]): Promise<Agent>;
}

export interface Agent {
  readonly id: string;
  readonly env: { readonly SVAULT_BASE_URL: string; readonly SVAULT_KEY: string };
}

export async function agentsOfPair(): Promise<AgentsOfPair> {
  // No job calls the webhook: one that met a busy machine would note it as away, on a clock that stands still.
  const pair = await startPair({ logLevel: 'trace', startMs: Date.now(), startJob: jobsByHand().startJob });
  let made = 0;
  return {
    pair,
    store: (serviceName, value, further = {}) =>
      storeCredential(
        pair.admin,
        serviceName,
        { tokenType: 'PlainText', value, ...further },
        // Not through the wiretap, which is to hold what control plane, webhook and agents say.
        (url, init) => fetch(pair.bypassingRecorder(url as string), init),
      ),
    agent: async (...services) => {
      made += 1;
      const { agent, apiKey } = await pair.admin.call<{ agent: { id: string }; apiKey: string }>(
        'POST',
        '/api/agents',
        { name: `agent ${made}` },
      );
      for (const serviceName of services)
        await pair.admin.call('POST', `/api/agents/${agent.id}/grants`, { serviceName });
      return { id: agent.id, env: { SVAULT_BASE_URL: pair.controlPlaneUrl(), SVAULT_KEY: apiKey } };
    },
  };
}
