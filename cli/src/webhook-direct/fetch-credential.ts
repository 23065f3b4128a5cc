import { shellWord } from '@svault/shared';
import type { ApiClient } from '../api/api-client.ts';
import { orElse } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { fetchDelivery } from './fetch-delivery.ts';
import { type DeliveredToken, openDelivery } from './open-delivery.ts';

/** A credential in the clear, from the webhook and opened here. @param name of the token. @throws Failure */
export async function fetchCredential(
  invocation: Invocation,
  client: ApiClient,
  name: string,
): Promise<DeliveredToken> {
  const delivery = await orElse(fetchDelivery(invocation, client, name), (error) => {
    const { code } = error;
    const { kind } = client.login.context;
    if (code === 'NO_GRANT' && kind === 'agent') throw error.saying(withoutGrant(name));
    const advice = adviceOn(code, name, kind);
    throw advice === undefined ? error : error.saying(`${error.message}; ${advice}`);
  });
  return openDelivery(delivery, client.login, name);
}

const withoutGrant = (name: string): string =>
  `this agent has no grant for ${name}: svault ls lists those it has, and its owner makes one with svault grant AGENT ${shellWord(name)}`;

/** Where the one who refuses cannot know what the reader of it can do. */
function adviceOn(code: string | undefined, name: string, kind: 'admin' | 'agent'): string | undefined {
  switch (code) {
    case 'DELIVERY_NOT_ALLOWED':
      return kind === 'admin'
        ? 'an admin’s login keeps no key that opens a sealed one: use it as the agent it is for'
        : 'where it is sealed, its recipients and svault agents edit --sealing-key have to name this login’s key';
    case 'GRANT_EXPIRED':
      return `here that is svault grant AGENT ${shellWord(name)}`;
    case 'EMPTY_TOKEN':
      return `svault set ${shellWord(name)} stores one`;
    default:
      return undefined;
  }
}
