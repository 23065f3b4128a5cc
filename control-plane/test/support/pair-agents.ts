import type { StoreTicket } from '@svault/compose/admin-client';
import type { TestPair } from '@svault/test-kit/pair';
import { type Answer, clientOf } from './management-service.ts';
import { uniqueName } from './unique-name.ts';

export const CREDENTIALS = '/api/agents/credentials';

export const pathFor = (serviceName: string): string =>
  `${CREDENTIALS}?service=${encodeURIComponent(serviceName)}`;

/** An agent of a running pair, wherever its control plane listens by now. */
export interface PairAgent {
  readonly id: string;
  readonly apiKey: string;
  /** Asks the service for a credential and follows nothing. */
  ask(serviceName: string): Promise<Answer>;
  list(): Promise<Answer>;
  /** Goes where the service sends it, past the wiretap; the service's own answer where that is no redirect. */
  fetch(serviceName: string): Promise<Answer>;
}

/** Makes an agent with grants until revoked. */
export async function agentOn(pair: TestPair, ...serviceNames: string[]): Promise<PairAgent> {
  const made = await pair.admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
    name: uniqueName('builder'),
  });
  const { id } = made.agent;
  for (const serviceName of serviceNames) await grant(pair, id, { serviceName });
  const call = (path: string): Promise<Answer> =>
    clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${made.apiKey}` })('GET', path);
  const ask = (serviceName: string): Promise<Answer> => call(pathFor(serviceName));
  return {
    id,
    apiKey: made.apiKey,
    ask,
    list: () => call(CREDENTIALS),
    fetch: async (serviceName) => {
      const answer = await ask(serviceName);
      const location = answer.headers.get('location');
      return answer.status === 307 && location !== null ? take(pair, location) : answer;
    },
  };
}

export const grant = (pair: TestPair, agentId: string, body: object): Promise<unknown> =>
  pair.admin.call('POST', `/api/agents/${agentId}/grants`, { allowMissing: true, ...body });

/** Uses a ticket's address at the webhook, as an agent in another network would: the wiretap does not see it. */
export const take = (pair: TestPair, location: string): Promise<Answer> =>
  clientOf(pair.bypassingRecorder(location))('GET', '');

/** Hands a secret to the webhook past the wiretap, as an owner's browser does. */
export async function putBypassingRecorder(
  pair: TestPair,
  store: StoreTicket,
  credential: object,
): Promise<number> {
  const response = await fetch(pair.bypassingRecorder(store.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${store.ticket}`, 'content-type': 'application/json' },
    body: JSON.stringify(credential),
  });
  await response.body?.cancel();
  return response.status;
}

/** Names a token and stores its secret. */
export async function storeOn(
  pair: TestPair,
  serviceName: string,
  credential: { readonly tokenType: string } & Record<string, unknown>,
): Promise<void> {
  const { tokenType } = credential;
  const { store } = await pair.admin.call<{ store: StoreTicket }>('POST', '/api/tokens', {
    serviceName,
    tokenType,
  });
  const status = await putBypassingRecorder(pair, store, credential);
  if (status !== 200) throw new Error(`the webhook answered ${status} to the secret of ${serviceName}`);
}
