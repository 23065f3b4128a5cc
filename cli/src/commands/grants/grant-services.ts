import { shellWord } from '@svault/shared';
import type { ApiClient } from '../../api/api-client.ts';
import { type Grant, grantPath, grantSchema, grantsPath } from '../../api/grants.ts';
import type { Referred } from '../../api/resource.ts';
import { Failure, orElse } from '../../failure.ts';
import { given } from '../../json-in.ts';
import type { Invocation } from '../../invocation.ts';
import { type Outcomes, oneByOne } from '../../one-by-one.ts';
import { say } from '../../output/say.ts';
import { grantWarning } from '../tokens/usability.ts';

/** When a grant ends, and who refreshes the token; `grantExpiresAt: null` is "until revoked". */
export interface GrantTerms {
  readonly expiresInSeconds?: number;
  readonly grantExpiresAt?: null;
  readonly refreshPolicy?: 'none' | 'auto';
}

interface NewGrants {
  readonly services: readonly string[];
  readonly terms?: GrantTerms;
  /** Also for names of no credential yet. */
  readonly allowMissing?: true | undefined;
}

/** Grants credentials to an agent, one after another; each is said on stderr. */
export const grantServices = (
  invocation: Invocation,
  client: ApiClient,
  agent: Referred,
  { services, terms = {}, allowMissing }: NewGrants,
): Promise<Outcomes<Grant>> =>
  oneByOne(invocation, services, async (serviceName) => {
    const body = given({ serviceName, ...terms, allowMissing });
    const path = grantsPath(agent.id);
    const grant = await client.change({ method: 'POST', path, body, schema: grantSchema });
    sayGranted(invocation, agent, grant);
    const warning = await grantWarning(client, serviceName);
    if (warning !== undefined) say(invocation, warning);
    return grant;
  });

/** Sets when grants of an agent end, one after another; each is said on stderr. */
export const renewGrants = (
  invocation: Invocation,
  client: ApiClient,
  agent: Referred,
  { services, terms }: { readonly services: readonly string[]; readonly terms: GrantTerms },
): Promise<Outcomes<Grant>> =>
  oneByOne(invocation, services, async (serviceName) => {
    const path = `${grantPath(agent.id, serviceName)}/renew`;
    const renewal = client.change({ method: 'POST', path, body: terms, schema: grantSchema });
    const grant = await aboutGrant(agent, serviceName, renewal, newGrantInstead(agent, serviceName));
    sayGranted(invocation, agent, grant);
    return grant;
  });

const sayGranted = (invocation: Invocation, { name }: Referred, grant: Grant): void =>
  say(invocation, `${name} may have ${grant.serviceName} until ${grant.grantExpiresAt ?? 'it is revoked'}`);

/** @param advice what follows in the message where there is no such grant. @throws Failure */
export const aboutGrant = <T>(
  agent: Referred,
  serviceName: string,
  call: Promise<T>,
  advice = '',
): Promise<T> =>
  orElse(call, (error) => {
    if (error.exit !== 'notFound') throw error;
    throw new Failure('notFound', `${agent.name} has no grant for ${serviceName}${advice}`);
  });

/** The specification has an expired grant deleted when its agent asks for it: there is nothing to renew then. */
const newGrantInstead = ({ name }: Referred, serviceName: string): string =>
  `; one that expired was removed when the agent asked for it: svault grant ${shellWord(name)} ${shellWord(serviceName)}`;
