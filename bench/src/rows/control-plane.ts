import type { Pair } from '@svault/compose/pair';
import { newKey } from '@svault/shared';
import { getRequest, inTurn } from '../requests.ts';
import type { Contender } from '../rounds.ts';

/** Enough that keys are not all in one place of the index. The pair's limits are raised: they count, and never refuse. */
const AGENTS = 100;
const SERVICE = 'bench-service';
const PATH = '/api/agents/credentials';

export type ControlPlaneContenders = Readonly<
  Record<'credentials' | 'list' | 'missingKey' | 'wrongKey' | 'noGrant', Contender>
>;

/**
 * The agent-facing REST endpoint: the success, the list, and each refusal that an outsider can cause.
 *
 * @param where added to each name
 */
export async function controlPlaneContenders(pair: Pair, where = ''): Promise<ControlPlaneContenders> {
  const keys = await makeAgents(pair);
  const url = pair.controlPlaneUrl;
  const contender = (
    name: string,
    expectedStatus: number,
    path: string,
    agentKeys: readonly string[],
  ): Contender => {
    const requests = agentKeys.map((key) =>
      getRequest(url, path, key === '' ? {} : { authorization: `Bearer ${key}` }),
    );
    return {
      name: name + where,
      url,
      get pid() {
        return pidOf(pair, 'control-plane');
      },
      expectedStatus,
      prepare: () => inTurn(requests),
    };
  };
  return {
    credentials: contender('credentials, 307 with durable audit', 307, `${PATH}?service=${SERVICE}`, keys),
    list: contender('list of grants, 200', 200, PATH, keys),
    missingKey: contender('refusal, 401 without key', 401, PATH, ['']),
    wrongKey: contender('refusal, 403 with a wrong key', 403, PATH, [newKey('svagent')]),
    noGrant: contender('refusal, 404 without grant', 404, `${PATH}?service=another-service`, keys),
  };
}

async function makeAgents({ admin }: Pair): Promise<readonly string[]> {
  const keys: string[] = [];
  for (let index = 0; index < AGENTS; index++) {
    const { agent, apiKey } = await admin.call<{ agent: { id: string }; apiKey: string }>(
      'POST',
      '/api/agents',
      {
        name: `bench-${index}`,
      },
    );
    await admin.call('POST', `/api/agents/${agent.id}/grants`, { serviceName: SERVICE });
    keys.push(apiKey);
  }
  return keys;
}

/** Of a program of the pair; another one after a restart. */
export function pidOf(pair: Pair, program: 'control-plane' | 'webhook'): number {
  const { pid } = pair.process(program).child;
  if (pid === undefined) throw new Error(`the ${program} has no process`);
  return pid;
}
