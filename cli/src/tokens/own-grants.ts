import { z } from 'zod';
import type { ApiClient } from '../api/api-client.ts';
import type { Shape } from '../output/print.ts';

/** A grant as its agent is told of it (specification, "GET /api/agents/credentials"). */
const ownGrantSchema = z.looseObject({
  serviceName: z.string(),
  /** Null: until revoked. */
  grantExpiresAt: z.string().nullable(),
  refreshPolicy: z.string(),
  sourceGroupId: z.string().nullable(),
});
export type OwnGrant = z.infer<typeof ownGrantSchema>;

const PATH = '/api/agents/credentials';
const grantsSchema = z.looseObject({ grants: z.array(ownGrantSchema) });

/** What the agent that acts may have. @throws Failure */
export async function ownGrants(client: ApiClient): Promise<readonly OwnGrant[]> {
  return (await client.read(PATH, grantsSchema)).grants;
}

export const OWN_GRANTS: Shape<OwnGrant> = {
  columns: [
    { title: 'name', of: ({ serviceName }) => serviceName },
    {
      title: 'granted',
      of: ({ grantExpiresAt }, { time }) =>
        grantExpiresAt === null ? 'until revoked' : time(grantExpiresAt),
      whole: true,
    },
    { title: 'refresh', of: ({ refreshPolicy }) => refreshPolicy, whole: true },
    { title: 'folder', of: ({ sourceGroupId }) => sourceGroupId ?? '', wide: true },
  ],
  name: ({ serviceName }) => serviceName,
  none: 'nothing is granted to this agent',
};
