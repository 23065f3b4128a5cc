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
  oneByOne(invocation, services, async (serviceName) => {
    const body = { serviceName, ...terms };
    const path = grantsPath(agent.id);
    const grant = await client.change({ method: 'POST', path, body, schema: grantSchema });
    say(invocation, `${agent.name} may have ${serviceName} until ${grant.grantExpiresAt ?? 'it is revoked'}`);
    return grant;
  });
