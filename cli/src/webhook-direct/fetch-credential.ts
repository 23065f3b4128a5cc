import { shellWord } from '@svault/shared';
import type { ApiClient } from '../api/api-client.ts';
import { type Failure, orElse } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { type Waiting, fetchDelivery } from './fetch-delivery.ts';
import { type DeliveredToken, openDelivery } from './open-delivery.ts';

/** A credential in the clear, from the webhook and opened here. @param name of the token. @throws Failure */
export async function fetchCredential(
  invocation: Invocation,
  client: ApiClient,
  name: string,
  waiting: Waiting = {},
): Promise<DeliveredToken> {
  const delivery = await orElse(fetchDelivery(invocation, client, name, waiting), (error) => {
    const { code } = error;
    const { kind } = client.login.context;
    if (code === 'NO_GRANT' && kind === 'agent') throw error.saying(withoutGrant(name));
    const advice = adviceOn(error, name, kind);
    throw advice === undefined ? error : error.saying(`${error.message}; ${advice}`);
  });
  return openDelivery(delivery, client.login, name);
}

const withoutGrant = (name: string): string =>
  `this agent has no grant for ${name}: svault ls lists those it has, and its owner adds one with svault grant AGENT ${shellWord(name)}`;

/** Where the one who refuses cannot know what the reader of it can do. */
function adviceOn(
  { code, message, approval }: Failure,
  name: string,
  kind: 'admin' | 'agent',
): string | undefined {
  switch (code) {
    case 'DELIVERY_NOT_ALLOWED':
      if (/through a proxy/.test(message))
        return `svault proxies create --name ${shellWord(name)} --service ${shellWord(name)} --upstream-url URL creates one`;
      return kind === 'admin'
        ? 'the login of an admin has no key that opens a sealed credential: get it as the agent that it is for'
        : 'its recipients and svault agents edit --sealing-key have to name the key of this login';
    case 'APPROVAL_REQUIRED':
      return approval === undefined && kind === 'agent'
        ? `svault get ${shellWord(name)} --wait 300 asks for it and waits`
        : undefined;
    case 'GRANT_EXPIRED':
      return `here that is svault grant AGENT ${shellWord(name)}`;
    case 'EMPTY_TOKEN':
      return `svault set ${shellWord(name)} stores one`;
    default:
      return undefined;
  }
}
