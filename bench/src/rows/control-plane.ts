import type { Pair } from '@svault/compose/pair';
import { newKey } from '@svault/shared';
import { inTurn, requestBytes } from '../requests.ts';
import type { Contender } from '../rounds.ts';
import { SERVICE, makeAgents } from './bench-agents.ts';

/** Enough that keys are not all in one place of the index. The pair's limits are raised: they count, and never refuse. */
const AGENTS = 100;
const PATH = '/api/agents/credentials';

/** Allow all that a run asks for. */
const ROOMY_RULES = [
  { type: 'ip_allowlist', cidrs: ['127.0.0.0/8', '::1/128'] },
  { type: 'rate_limit', limit: 1_000_000, windowSeconds: 86_400 },
  { type: 'max_usage', limit: 1_000_000 },
];
const ONCE_A_DAY = [{ type: 'rate_limit', limit: 1, windowSeconds: 86_400 }];

/**
 * The agent-facing REST endpoint: the success, the list, and each refusal that an outsider can cause.
 * @param where added to each name
 */
export async function controlPlaneContenders(pair: Pair, where = '') {
  const url = pair.controlPlaneUrl;
  const keys = await makeAgents(pair, AGENTS);
  const keysUnderPolicies = await makeAgents(pair, AGENTS, ROOMY_RULES);
  const keysAtTheirRate = await makeAgents(pair, 1, ONCE_A_DAY);
  for (const key of keysAtTheirRate) await useUp(url, key);
  const contender = (
    name: string,
    expectedStatus: number,
    path: string,
    agentKeys: readonly string[],
  ): Contender => {
    const requests = agentKeys.map((key) =>
      requestBytes(url, path, key === '' ? {} : { authorization: `Bearer ${key}` }),
    );
    return controlPlaneContender(pair, { name: name + where, expectedStatus, requests });
  };
  return {
    credentials: contender('credentials, 307 with durable audit', 307, `${PATH}?service=${SERVICE}`, keys),
    underPolicies: contender(
      'credentials under three rules, 307',
      307,
      `${PATH}?service=${SERVICE}`,
      keysUnderPolicies,
    ),
    list: contender('list of grants, 200', 200, PATH, keys),
    missingKey: contender('refusal, 401 without key', 401, PATH, ['']),
    wrongKey: contender('refusal, 403 with a wrong key', 403, PATH, [newKey('svagent')]),
    noGrant: contender('refusal, 404 without grant', 404, `${PATH}?service=another-service`, keys),
    rateLimited: contender('refusal, 429 by a rate rule', 429, `${PATH}?service=${SERVICE}`, keysAtTheirRate),
  };
}

/** The one access that its rule lets through. */
async function useUp(url: string, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const { status } = await fetch(`${url}${PATH}?service=${SERVICE}`, { headers, redirect: 'manual' });
  if (status !== 307) throw new Error(`the first access was answered ${status}`);
}

/** The same requests to the pair's control plane, over and over. */
export const controlPlaneContender = (
  pair: Pair,
  {
    requests,
    ...more
  }: Pick<Contender, 'expectedStatus' | 'name'> & { readonly requests: readonly Buffer[] },
): Contender => ({
  ...more,
  url: pair.controlPlaneUrl,
  pid: pidOf(pair, 'control-plane'),
  prepare: () => inTurn(requests),
});

/** Of a program of the pair; another one after a restart. */
export function pidOf(pair: Pair, program: 'control-plane' | 'webhook'): number {
  const { pid } = pair.process(program).child;
  if (pid === undefined) throw new Error(`the ${program} has no process`);
  return pid;
}
