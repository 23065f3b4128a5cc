import { fileURLToPath } from 'node:url';
import { randomToken } from '@svault/shared';
import { storeCredential } from '../../../src/admin-client.ts';
import { NODE_IMAGE } from '../engine/images.ts';
import { untilAnswered } from '../engine/machine.ts';
import { OWN_USER, runContainer } from '../engine/one-container.ts';
import type { Seen } from './upstream.ts';
import type { Scale } from '../scale/scale.ts';

const UPSTREAM_PORT = 8080;
const UPSTREAM = `upstream:${UPSTREAM_PORT}`;
const SERVER = fileURLToPath(new URL('./upstream.ts', import.meta.url));

/** Settings that a deployment needs so that load can be put on it. */
export const LOAD_WEBHOOK_ENV = { SV_EGRESS_ALLOW: 'upstream' };

/** An agent that may fetch the credential of the world. */
export interface Reader {
  readonly agentId: string;
  readonly apiKey: string;
}

/** A proxy to the upstream of the world. */
export interface ProxyCaller {
  readonly proxyId: string;
  readonly key: string;
}

/** What stands while load runs: a credential, who may use it, and a server of the owner that takes it. */
export interface World {
  readonly scale: Scale;
  readonly serviceName: string;
  /** The credential. */
  readonly value: string;
  readonly readers: readonly Reader[];
  readonly proxies: readonly ProxyCaller[];
  /** For looking whether all works, beside the load. */
  readonly probe: ProxyCaller;
  /** What the upstream was sent so far. */
  seen(): Promise<Seen>;
  remove(): Promise<void>;
}

export async function makeWorld(
  scale: Scale,
  { readers, proxies }: { readonly readers: number; readonly proxies: number },
): Promise<World> {
  const { admin, send } = scale;
  const [serviceName, value] = ['of-the-world', `secret-${randomToken()}`];
  await storeCredential(
    admin,
    serviceName,
    { tokenType: 'PlainText', value, allowedHosts: [`http://${UPSTREAM}`] },
    send,
  );
  const makeReader = async (): Promise<Reader> => {
    const { agent, apiKey } = await admin.call<{ agent: { id: string }; apiKey: string }>(
      'POST',
      '/api/agents',
      { name: `reader ${randomToken()}`, mcpEnabled: true },
    );
    await admin.call('POST', `/api/agents/${agent.id}/grants`, { serviceName });
    return { agentId: agent.id, apiKey };
  };
  const makeProxy = async (): Promise<ProxyCaller> => {
    const { proxy, key } = await admin.call<{ proxy: { id: string }; key: string }>('POST', '/api/proxies', {
      name: `caller ${randomToken()}`,
      upstreamUrl: `http://${UPSTREAM}/mcp`,
      serviceName,
    });
    return { proxyId: proxy.id, key };
  };
  const made = {
    readers: await Promise.all(Array.from({ length: readers }, makeReader)),
    proxies: await Promise.all(Array.from({ length: proxies }, makeProxy)),
    probe: await makeProxy(),
  };
  return { scale, serviceName, value, ...made, ...(await startUpstream(scale)) };
}

async function startUpstream({ elsewhere }: Scale): Promise<Pick<World, 'seen' | 'remove'>> {
  const upstream = await runContainer({
    image: NODE_IMAGE,
    network: { name: elsewhere.network, alias: 'upstream' },
    user: OWN_USER,
    binds: [`${SERVER}:/upstream.ts:ro`],
    command: ['node', '/upstream.ts'],
    ports: { [UPSTREAM_PORT]: 0 },
  });
  const seen = async (): Promise<Seen> =>
    (await (await fetch(`http://127.0.0.1:${await upstream.port(UPSTREAM_PORT)}/seen`)).json()) as Seen;
  try {
    await untilAnswered('the upstream', seen);
  } catch (error) {
    await upstream.remove();
    throw error;
  }
  return { seen, remove: () => upstream.remove() };
}
