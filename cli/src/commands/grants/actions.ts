import { agentReferred } from '../../api/agents.ts';
import { apiClient, nothingSchema } from '../../api/api-client.ts';
import { type Grant, grantPath, grantSchema, grantsPath } from '../../api/grants.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { usage } from '../../failure.ts';
import type { Run } from '../../invocation.ts';
import { oneByOne, unique } from '../../one-by-one.ts';
import { type Shape, printAnswers, printList } from '../../output/print.ts';
import { say } from '../../output/say.ts';
import { aboutGrant, grantServices, renewGrants } from './grant-services.ts';
import { type GrantOptions, grantTerms } from './grant-terms.ts';

/** `grants list AGENT` */
export const listGrants: Run<[agent: string]> = async (invocation, [reference]) => {
  const client = await apiClient(invocation);
  const { id, name } = await agentReferred(client, reference);
  const grants = await client.readAll(grantsPath(id), grantSchema);
  printList(invocation, grants, {
    ...GRANTS,
    none: `${name} is granted nothing: svault grants add ${name} SERVICE`,
  });
};

const GRANTS: Shape<Grant> = {
  columns: [
    { title: 'service', of: ({ serviceName }) => serviceName },
    {
      title: 'status',
      of: ({ status }) => status,
      tone: ({ status }) => (status === 'expired' ? 'yellow' : undefined),
      whole: true,
    },
    {
      title: 'ends',
      of: ({ grantExpiresAt }, { time }) => (grantExpiresAt === null ? 'when revoked' : time(grantExpiresAt)),
      whole: true,
    },
    { title: 'refresh', of: ({ refreshPolicy }) => refreshPolicy, whole: true },
    { title: 'created', of: ({ createdAt }, { time }) => time(createdAt), whole: true },
    { title: 'folder', of: ({ sourceGroupId }) => sourceGroupId ?? '', wide: true },
    { title: 'id', of: ({ id }) => id, wide: true },
  ],
  name: ({ serviceName }) => serviceName,
};

/** `grants add AGENT SERVICE…`, and with `--renew` for grants that are there. */
export const addGrants: Run<
  [agent: string, services: readonly string[]],
  GrantOptions & { readonly renew?: true; readonly allowMissing?: true }
> = async (invocation, [reference, names], { renew, allowMissing, ...options }) => {
  if (renew && options.expires === undefined)
    throw usage('--renew needs --expires: a duration such as 1h, or never (until it is revoked)');
  const terms = grantTerms(options);
  const services = unique(names.map(serviceNameFrom));
  const client = await apiClient(invocation);
  const agent = await agentReferred(client, reference);
  const grant = renew ? renewGrants : grantServices;
  const { done, failure } = await grant(invocation, client, agent, { services, terms, allowMissing });
  printAnswers(invocation, done);
  if (failure !== undefined) throw failure;
};

/** `grants rm AGENT SERVICE…` */
export const removeGrants: Run<[agent: string, services: readonly string[]]> = async (
  invocation,
  [reference, names],
) => {
  const services = unique(names.map(serviceNameFrom));
  const client = await apiClient(invocation);
  const agent = await agentReferred(client, reference);
  const { done, failure } = await oneByOne(invocation, services, async (serviceName) => {
    const path = grantPath(agent.id, serviceName);
    await aboutGrant(agent, serviceName, client.change({ method: 'DELETE', path, schema: nothingSchema }));
    say(invocation, `${agent.name} may no longer have ${serviceName}`);
    return { serviceName, revoked: true };
  });
  printAnswers(invocation, done);
  if (failure !== undefined) throw failure;
};
