import { type StoreBody, allowedHostFor, storeBodySchema } from '@svault/shared/schemas';
import { ApiFailure, Problem, type Schemas, answerOf, api } from '../api/client.ts';
import { storeAtWebhook } from '../credentials/store-at-webhook.ts';
import type { RemoteServer } from './mcp-servers.ts';
import { placed } from './proxy-fields.tsx';

interface Import {
  readonly server: RemoteServer;
  readonly proxyName: string;
  readonly serviceName: string;
  readonly secret: string;
  /** Where the person was told that the secret goes. */
  readonly webhook: string;
  readonly isAdmin: boolean;
}

/**
 * Makes a proxy of a server, and stores its secret at the webhook for that server and header alone. Where one of both fails,
 * neither is left behind.
 *
 * @returns the key of the proxy
 * @throws Problem whose issues are about `name`, `serviceName` or `secret`
 */
export async function importServer(wanted: Import): Promise<{ readonly id: string; readonly key: string }> {
  const { server, proxyName, serviceName, webhook, isAdmin } = wanted;
  const record = recordOf(wanted);
  const held = await credentialNamed(serviceName);
  if (held?.webhook?.empty === false)
    throw besideCredential('There is a credential of this name already. Choose another name.');
  const { header, prefix } = server.secret;
  const made = await answerOf(
    api.POST('/api/proxies', {
      body: {
        ...{ name: proxyName, upstreamUrl: server.upstreamUrl, serviceName, allowMissing: true },
        headerTemplates: { ...server.headers, [header]: `${prefix}\${TOKEN}` },
      },
    }),
  ).catch(placed);
  let isNamed = held !== undefined;
  const ticket = async (): Promise<Schemas['StoreAddress']> => {
    if (isNamed) return fillTicket(serviceName);
    const { store } = await answerOf(
      api.POST('/api/tokens', { body: { serviceName, tokenType: 'PlainText' } }),
    );
    isNamed = true;
    return store;
  };
  try {
    await storeAtWebhook({ webhook, record, ticket });
  } catch (error) {
    const isLeft = isNamed && held === undefined;
    await answerOf(api.DELETE('/api/proxies/{id}', { params: { path: { id: made.proxy.id } } }));
    // A member may not delete a credential: the next attempt fills it.
    if (isLeft && isAdmin)
      await answerOf(api.DELETE('/api/tokens/{serviceName}', { params: { path: { serviceName } } }));
    throw error instanceof ApiFailure && error.code === 'CONFLICT'
      ? besideCredential('There is a credential of this name already. Choose another name.')
      : error;
  }
  return { id: made.proxy.id, key: made.key };
}

const besideCredential = (message: string): Problem =>
  new Problem(message, [{ path: 'serviceName', message }]);

/** Checked here, since a refusal of the webhook comes when the proxy is there. */
function recordOf({ server, secret }: Import): StoreBody {
  const parsed = storeBodySchema.safeParse({
    ...{ tokenType: 'PlainText', value: secret, delivery: 'proxy-only' },
    allowedHosts: [allowedHostFor(new URL(server.upstreamUrl))],
    allowedHeaders: [server.secret.header],
  });
  if (parsed.data !== undefined) return parsed.data;
  const isShort = parsed.error.issues.some(({ path }) => path[0] === 'allowShortSecret');
  const message = isShort
    ? 'The secret has less than 80 bits: those who use the proxy could find it out. Add it in Credentials, where you can accept that, and then create the proxy.'
    : 'The webhook would not take this secret. A secret has 1 to 65,536 bytes.';
  throw new Problem(message, [{ path: 'secret', message }]);
}

async function credentialNamed(serviceName: string): Promise<Schemas['Token'] | undefined> {
  const { items } = await answerOf(
    api.GET('/api/tokens', { params: { query: { name: serviceName, limit: 100 } } }),
  );
  return items.find((token) => token.serviceName === serviceName);
}

/** It may fill the credential, and not replace what is there. */
const fillTicket = (serviceName: string): Promise<Schemas['StoreAddress']> =>
  answerOf(
    api.POST('/api/tokens/{serviceName}/store-ticket', {
      params: { path: { serviceName } },
      body: { ifv: 0 },
    }),
  );
