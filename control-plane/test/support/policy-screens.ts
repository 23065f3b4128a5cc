import { afterEach, beforeAll, beforeEach } from 'vitest';
import { type ConsoleInTest, useConsole } from './console.ts';
import { type PairAgent, agentOn, storeOn } from './pair-agents.ts';
import { POLICY_SETTINGS, policySteps } from './policy-calls.ts';

/** Of a packaged database of countries. */
export const DUTCH = '193.0.6.139';
export const AMERICAN = '8.8.8.8';

/** The console on a pair that knows countries, with an agent for each test and no policy left by another one. */
export interface PolicyScreens extends ConsoleInTest, ReturnType<typeof policySteps> {
  /** May fetch `github`. */
  readonly agent: PairAgent;
  readonly agentName: string;
  shown(text: string | RegExp): Promise<void>;
  /** What becomes of a request of the agent from an address. */
  decision(address?: string): Promise<string>;
  policies(): Promise<readonly Record<string, unknown>[]>;
}

/** Its members are there once `beforeEach` has run. */
export function usePolicyScreens(): PolicyScreens {
  const own = useConsole({ env: POLICY_SETTINGS }) as ConsoleInTest & { agent: PairAgent; agentName: string };
  const steps = policySteps(() => own.service.pair);
  const policies = async () =>
    (await own.service.admin('GET', '/api/policies?limit=100')).json.items as { id: string }[];
  beforeAll(() => storeOn(own.service.pair, 'github', { tokenType: 'PlainText', value: 'v' }));
  beforeEach(async () => {
    own.agent = await agentOn(own.service.pair, 'github');
    own.agentName = (await own.service.admin('GET', `/api/agents/${own.agent.id}`)).json.name;
  });
  afterEach(async () => {
    for (const { id } of await policies()) await own.service.admin('DELETE', `/api/policies/${id}`);
  });
  return Object.assign(own, {
    ...steps,
    shown: (text: string | RegExp) => own.page.getByText(text).first().waitFor(),
    decision: async (address = DUTCH) => {
      const { status, json } = await steps.askFrom(own.agent, address);
      return status === 307 ? 'allowed' : `${status} ${json.policy} ${json.rule}`;
    },
    policies,
  });
}
