import { apiClient } from '../api/api-client.ts';
import type { Run } from '../invocation.ts';
import { printList } from '../output/print.ts';
import { agentSchema } from './agent.ts';
import { agentsShape } from './agents-shape.ts';

/** `agents list` */
export const run: Run = async (invocation) => {
  const client = await apiClient(invocation);
  const agents = await client.readAll('/api/agents', agentSchema);
  printList(invocation, agents, agentsShape(agents));
};
