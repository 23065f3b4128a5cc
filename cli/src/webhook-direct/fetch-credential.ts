import type { ApiClient } from '../api/api-client.ts';
import { Failure } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { type Delivery, fetchDelivery } from './fetch-delivery.ts';
import { type DeliveredToken, openDelivery } from './open-delivery.ts';

/**
 * A credential in the clear, from the webhook and opened here.
 *
 * @param name of the token
 * @throws Failure
 */
export async function fetchCredential(
  invocation: Invocation,
  client: ApiClient,
  name: string,
): Promise<DeliveredToken> {
  return openDelivery(await delivery(invocation, client, name), client.login, name);
}

async function delivery(invocation: Invocation, client: ApiClient, name: string): Promise<Delivery> {
  try {
    return await fetchDelivery(invocation, client, name);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { code, exit, message } = error;
    const advice = adviceOn(code, name, client.login.context.kind);
    if (advice === undefined) throw error;
    throw new Failure(exit, `${message}; ${advice}`, { code, cause: error });
  }
}

/** Where the one who refuses cannot know what the reader of it can do. */
function adviceOn(code: string | undefined, name: string, kind: 'admin' | 'agent'): string | undefined {
  switch (code) {
    case 'DELIVERY_NOT_ALLOWED':
      return kind === 'admin'
        ? 'an admin’s login keeps no key that opens a sealed one: use it as the agent it is for'
        : 'where it is sealed, its recipients and svault agents edit --sealing-key have to name this login’s key';
    case 'EMPTY_TOKEN':
      return `svault set ${name} stores one`;
    default:
      return undefined;
  }
}
