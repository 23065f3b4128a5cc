import { z } from 'zod';
import { apiClient } from '../api/api-client.ts';
import { usage } from '../failure.ts';
import type { Grant } from '../grants/grant.ts';
import { grantServices } from '../grants/grant-services.ts';
import type { Invocation, Run } from '../invocation.ts';
import { unique } from '../one-by-one.ts';
import { jsonText } from '../output/json-text.ts';
import { printDone } from '../output/print.ts';
import { say } from '../output/say.ts';
import { serviceNameFrom } from '../tokens/service-name.ts';
import { agentSchema } from './agent.ts';
import { sealingKeyThumbprint } from './sealing-key-option.ts';

interface Options {
  readonly name?: string;
  readonly grants?: string;
  readonly description?: string;
  readonly mcp?: true;
  readonly sealingKey?: string;
}

const madeSchema = z.looseObject({ agent: agentSchema, apiKey: z.string().regex(/^svagent_[!-~]+$/) });
type Made = z.infer<typeof madeSchema>;

/** `agents create`: the key, once, on stdout, whatever becomes of the grants that follow. */
export const run: Run<[], Options> = async (invocation, _, options) => {
  const { name, grants, description, mcp, sealingKey } = options;
  if (name === undefined || name.trim() === '') throw usage('an agent needs a name: --name');
  const services = grants === undefined ? [] : servicesIn(grants);
  const body = {
    name,
    ...(description !== undefined && { description }),
    ...(mcp !== undefined && { mcpEnabled: mcp }),
    ...(sealingKey !== undefined && { sealingKeyThumbprint: await sealingKeyThumbprint(sealingKey) }),
  };
  const client = await apiClient(invocation);
  const made = await client.change({
    method: 'POST',
    path: '/api/agents',
    body,
    schema: madeSchema,
    dryAnswer: imagined(name),
  });
  if (client.dryRun) return void (await grantServices(invocation, client, made.agent, { services }));
  sayMade(invocation, made);
  let granted: readonly Grant[] = [];
  try {
    const { done, failure } = await grantServices(invocation, client, made.agent, { services });
    granted = done;
    if (failure !== undefined) throw failure;
  } finally {
    if (invocation.flags.format === 'json') invocation.terminal.out(jsonText({ ...made, grants: granted }));
  }
};

/** @throws Failure usage before anything is made */
function servicesIn(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  return unique(names.filter((name) => name !== '').map(serviceNameFrom));
}

/** JSON is printed whole in the end. */
function sayMade(invocation: Invocation, { agent: { id, name }, apiKey }: Made): void {
  const { flags, terminal } = invocation;
  const said = `${name} (${id}) is made`;
  switch (flags.format) {
    case 'json':
      return say(invocation, said);
    case 'name':
      return printDone(invocation, { said: `${said}; this format leaves its key out`, name });
    case 'table':
    case 'wide':
      say(invocation, `${said}; its key, which is shown this once:`);
      return terminal.out(`${apiKey}\n`);
  }
}

/** What stands for the answer where nothing is sent. */
const imagined = (name: string): Made => ({
  agent: {
    id: 'ID',
    name,
    description: '',
    status: 'active',
    mcpEnabled: false,
    createdAt: '',
    lastUsedAt: null,
    keyPrefix: '',
  },
  apiKey: '',
});
