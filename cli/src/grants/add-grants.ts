import { agentReferred } from '../agents/agent-reference.ts';
import { apiClient } from '../api/api-client.ts';
import type { Run } from '../invocation.ts';
import { unique } from '../one-by-one.ts';
import { printAnswers } from '../output/print.ts';
import { serviceNameFrom } from '../tokens/service-name.ts';
import { grantSeconds } from './grant-duration.ts';
import { grantServices } from './grant-services.ts';

interface Options {
  readonly expires?: string;
  readonly refreshPolicy?: 'none' | 'auto';
}

/** `grants add AGENT SERVICE…` */
export const run: Run<[agent: string, services: readonly string[]], Options> = async (
  invocation,
  [reference, names],
  { expires, refreshPolicy },
) => {
  const terms = {
    ...(expires !== undefined && { expiresInSeconds: grantSeconds(expires) }),
    ...(refreshPolicy !== undefined && { refreshPolicy }),
  };
  const services = unique(names.map(serviceNameFrom));
  const client = await apiClient(invocation);
  const agent = await agentReferred(client, reference);
  const { done, failure } = await grantServices(invocation, client, agent, { services, terms });
  printAnswers(invocation, done, ({ serviceName }) => serviceName);
  if (failure !== undefined) throw failure;
};
