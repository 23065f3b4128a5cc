import { apiClient } from '../api/api-client.ts';
import type { Invocation } from '../invocation.ts';
import { printDone } from '../output/print.ts';
import { agentPath, agentSchema } from './agent.ts';
import { agentReferred } from './agent-reference.ts';

/** `agents suspend` and `agents resume`; what is so already stays, and is said in the same words. */
export async function setAgentStatus(
  invocation: Invocation,
  reference: string,
  verb: 'suspend' | 'resume',
): Promise<void> {
  const client = await apiClient(invocation);
  const { id, name } = await agentReferred(client, reference);
  const answer = await client.change({
    method: 'POST',
    path: `${agentPath(id)}/${verb}`,
    schema: agentSchema,
  });
  const said =
    verb === 'suspend'
      ? `${name} is suspended: all its requests are refused until svault agents resume ${reference}`
      : `${name} is active: it gets what it is granted`;
  // As it was given: the name may be several agents'.
  printDone(invocation, { said, answer, name: reference });
}
