import { apiClient } from '../api/api-client.ts';
import { usage } from '../failure.ts';
import type { Run } from '../invocation.ts';
import { printDone } from '../output/print.ts';
import { agentPath, agentSchema } from './agent.ts';
import { agentReferred } from './agent-reference.ts';
import { sealingKeyThumbprint } from './sealing-key-option.ts';

interface Options {
  readonly name?: string;
  readonly description?: string;
  readonly mcp?: boolean;
  readonly sealingKey?: string;
}

/** `agents edit AGENT` */
export const run: Run<[agent: string], Options> = async (invocation, [reference], options) => {
  const { name, description, mcp, sealingKey } = options;
  const body = {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(mcp !== undefined && { mcpEnabled: mcp }),
    ...(sealingKey !== undefined && {
      sealingKeyThumbprint: sealingKey === 'none' ? null : await sealingKeyThumbprint(sealingKey),
    }),
  };
  if (Object.keys(body).length === 0)
    throw usage('nothing to change: give --name, --description, --mcp, --no-mcp or --sealing-key');
  const client = await apiClient(invocation);
  const agent = await agentReferred(client, reference);
  const answer = await client.change({
    method: 'PATCH',
    path: agentPath(agent.id),
    body,
    schema: agentSchema,
  });
  const called = answer.name === agent.name ? agent.name : `${agent.name}, now ${answer.name},`;
  const isRenamed = name !== undefined && reference !== agent.id;
  printDone(invocation, { said: `${called} is changed`, answer, name: isRenamed ? answer.name : reference });
};
