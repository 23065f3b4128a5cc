import { type ApiClient, apiClient } from '../api/api-client.ts';
import { Failure } from '../failure.ts';
import type { Invocation, Run } from '../invocation.ts';
import { printOne } from '../output/print.ts';
import { say } from '../output/say.ts';
import { OWN_GRANTS, ownGrants } from './own-grants.ts';
import { tokenOf } from './read-token.ts';
import { serviceNameFrom } from './service-name.ts';
import { TOKEN, isForAnyHost } from './tokens-shape.ts';

/** `tokens show SERVICE`; as an agent, its grant */
export const run: Run<[string]> = async (invocation, [service]) => {
  const name = serviceNameFrom(service);
  const client = await apiClient(invocation, 'anybody');
  if (client.login.context.kind === 'agent') return showGrant(invocation, client, name);
  const token = await tokenOf(client, name);
  printOne(invocation, token, TOKEN);
  if (token.webhook === undefined)
    say(invocation, 'the webhook said nothing of it: it holds none, or is away (svault webhook status)');
  if (isForAnyHost(token)) say(invocation, 'warning: proxies may send it to any host on the internet');
};

async function showGrant(invocation: Invocation, client: ApiClient, name: string): Promise<void> {
  const grant = (await ownGrants(client)).find(({ serviceName }) => serviceName === name);
  if (grant === undefined)
    throw new Failure('notFound', `this agent has no grant for ${name}; svault ls lists those it has`);
  printOne(invocation, grant, OWN_GRANTS);
}
