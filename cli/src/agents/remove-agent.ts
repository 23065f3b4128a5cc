import { apiClient, nothingSchema } from '../api/api-client.ts';
import type { Run } from '../invocation.ts';
import { printDone } from '../output/print.ts';
import { confirm } from '../secret-input/confirm.ts';
import { agentPath } from './agent.ts';
import { agentReferred } from './agent-reference.ts';

/** `agents rm AGENT` */
export const run: Run<[agent: string], { readonly yes?: true }> = async (
  invocation,
  [reference],
  options,
) => {
  const client = await apiClient(invocation);
  const { id, name } = await agentReferred(client, reference);
  await confirm(invocation, `Delete the agent ${name} (${id}), its key and its grants, for good?`, options);
  await client.change({ method: 'DELETE', path: agentPath(id), schema: nothingSchema });
  const said = `${name} (${id}) is deleted, with its key and its grants`;
  printDone(invocation, { said, answer: { id, name, status: 'deleted' }, name: reference });
};
