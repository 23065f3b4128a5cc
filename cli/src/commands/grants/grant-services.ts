import type { AgentReference } from '../../api/agents.ts';
import type { ApiClient } from '../../api/api-client.ts';
import { type Grant, grantSchema, grantsPath } from '../../api/grants.ts';
import type { Invocation } from '../../invocation.ts';
import { type Outcomes, oneByOne } from '../../one-by-one.ts';
import { say } from '../../output/say.ts';

interface GrantTerms {
  readonly expiresInSeconds?: number;
  readonly refreshPolicy?: 'none' | 'auto';
}

/** Lets an agent have credentials, one after another; each is said on stderr. */
export const grantServices = (
  invocation: Invocation,
  client: ApiClient,
  agent: AgentReference,
  { services, terms = {} }: { readonly services: readonly string[]; readonly terms?: GrantTerms },
): Promise<Outcomes<Grant>> =>
  oneByOne(invocation, services, {
    named: (service) => service,
    act: async (serviceName) => {
      const grant = await client.change({
        method: 'POST',
        path: grantsPath(agent.id),
        body: { serviceName, ...terms },
        schema: grantSchema,
      });
      const end = grant.grantExpiresAt === null ? 'it is revoked' : grant.grantExpiresAt;
      say(invocation, `${agent.name} may have ${serviceName} until ${end}`);
      return grant;
    },
  });
