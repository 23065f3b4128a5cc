import { agentReferred } from '../agents/agent-reference.ts';
import { apiClient, nothingSchema } from '../api/api-client.ts';
import { Failure } from '../failure.ts';
import type { Run } from '../invocation.ts';
import { oneByOne, unique } from '../one-by-one.ts';
import { printAnswers } from '../output/print.ts';
import { say } from '../output/say.ts';
import { serviceNameFrom } from '../tokens/service-name.ts';
import { grantsPath } from './grant.ts';

/** `grants rm AGENT SERVICE…` */
export const run: Run<[agent: string, services: readonly string[]]> = async (
  invocation,
  [reference, names],
) => {
  const services = unique(names.map(serviceNameFrom));
  const client = await apiClient(invocation);
  const agent = await agentReferred(client, reference);
  const { done, failure } = await oneByOne(invocation, services, {
    named: (service) => service,
    act: async (serviceName) => {
      const path = `${grantsPath(agent.id)}/${encodeURIComponent(serviceName)}`;
      try {
        await client.change({ method: 'DELETE', path, schema: nothingSchema });
      } catch (error) {
        if (!(error instanceof Failure) || error.exit !== 'notFound') throw error;
        throw new Failure('notFound', `${agent.name} has no grant for ${serviceName}`);
      }
      say(invocation, `${agent.name} may no longer have ${serviceName}`);
      return { serviceName, revoked: true };
    },
  });
  printAnswers(invocation, done, ({ serviceName }) => serviceName);
  if (failure !== undefined) throw failure;
};
