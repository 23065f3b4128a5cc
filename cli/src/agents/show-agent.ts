import { apiClient } from '../api/api-client.ts';
import { type Grant, grantSchema, grantsPath } from '../grants/grant.ts';
import type { Run } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';
import { printOne, type Column, type View } from '../output/print.ts';
import { agentSchema, agentPath, type Agent } from './agent.ts';
import { agentId } from './agent-reference.ts';
import { agentsShape } from './agents-shape.ts';

type AgentWithGrants = Agent & { readonly grants: readonly Grant[] };

/** `agents show AGENT`: the agent and what it is granted. */
export const run: Run<[agent: string]> = async (invocation, [reference]) => {
  const client = await apiClient(invocation);
  const id = await agentId(client, reference);
  const [agent, grants] = await Promise.all([
    client.read(agentPath(id), agentSchema),
    client.readAll(grantsPath(id), grantSchema),
  ]);
  const { columns } = agentsShape([agent]);
  printOne(invocation, { ...agent, grants }, { columns: [...columns, GRANTS], name: () => reference });
};

const GRANTS: Column<AgentWithGrants> = {
  title: 'grants',
  of: ({ grants }, view) =>
    grants.length === 0 ? 'none' : grants.map((grant) => grantLine(grant, view)).join('\n'),
};

function grantLine({ serviceName, status, grantExpiresAt }: Grant, { time }: View): string {
  const end = grantExpiresAt === null ? 'until revoked' : `until ${time(grantExpiresAt)}`;
  return `${plainLine(serviceName)}: ${status === 'expired' ? 'expired, ' : ''}${end}`;
}
