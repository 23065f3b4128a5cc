import { agentReferred } from '../agents/agent-reference.ts';
import { apiClient } from '../api/api-client.ts';
import type { Run } from '../invocation.ts';
import { printList, type Shape } from '../output/print.ts';
import { type Grant, grantSchema, grantsPath } from './grant.ts';

/** `grants list AGENT` */
export const run: Run<[agent: string]> = async (invocation, [reference]) => {
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
    { title: 'made', of: ({ createdAt }, { time }) => time(createdAt), whole: true },
    { title: 'folder', of: ({ sourceGroupId }) => sourceGroupId ?? '', wide: true },
    { title: 'id', of: ({ id }) => id, wide: true },
  ],
  name: ({ serviceName }) => serviceName,
};
